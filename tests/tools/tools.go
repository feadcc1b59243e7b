//go:build tools

// Package tools names the programs that the end-to-end tests of the command
// line run, so that go.mod and go.sum pin all they need.
package tools

import (
	_ "helm.sh/helm/v4/cmd/helm"
	_ "sigs.k8s.io/kustomize/kustomize/v5"
)
