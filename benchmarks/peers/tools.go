//go:build tools

// Package peers names the commands that the benchmarks compare with, so that go.mod and go.sum pin all they need.
package peers

import _ "github.com/open-policy-agent/conftest"
