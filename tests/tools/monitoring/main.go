// Command monitoring judges alert rules and dashboards with the code of Prometheus and Grafana: their parsers, their
// PromQL engine, their schema. It stands for promtool, which needs several times the time to build; files of tests are
// promtool's. What is wrong is written to standard error, a line each, and the exit status is 1.
//
//	monitoring check-rules FILE...      as "promtool check rules"
//	monitoring test-rules FILE...       as "promtool test rules", for alerts
//	monitoring check-dashboard FILE...  Grafana's schema, and Prometheus' parser for its queries
package main

import (
	"fmt"
	"os"
)

var commands = map[string]func(file string) []error{
	"check-rules":     checkRules,
	"test-rules":      testRules,
	"check-dashboard": checkDashboard,
}

func main() {
	if len(os.Args) < 3 || commands[os.Args[1]] == nil {
		fmt.Fprintln(os.Stderr, "usage: monitoring check-rules|test-rules|check-dashboard FILE...")
		os.Exit(2)
	}
	failed := false
	for _, file := range os.Args[2:] {
		for _, err := range commands[os.Args[1]](file) {
			fmt.Fprintln(os.Stderr, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}
