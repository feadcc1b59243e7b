//go:build tools

// Package conftest names the command that the benchmarks compare with, so that go.mod and go.sum pin all it needs.
package conftest

import _ "github.com/open-policy-agent/conftest"
