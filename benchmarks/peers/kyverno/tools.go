//go:build tools

// Package kyverno names the command that the benchmarks compare with, so that go.mod and go.sum pin all it needs.
package kyverno

import _ "github.com/kyverno/kyverno/cmd/kyverno"
