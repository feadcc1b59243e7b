//go:build tools

// Package gatekeeper names the command that the benchmarks compare with, so that go.mod and go.sum pin all it needs.
package gatekeeper

import _ "github.com/open-policy-agent/gatekeeper/v3"
