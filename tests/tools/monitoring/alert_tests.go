package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"go.yaml.in/yaml/v3"
)

// testFile is what promtool reads; of its fields those that tests of alerts need.
type testFile struct {
	RuleFiles          []string       `yaml:"rule_files"`
	EvaluationInterval model.Duration `yaml:"evaluation_interval"`
	Tests              []testGroup    `yaml:"tests"`
}

type testGroup struct {
	Name        string         `yaml:"name"`
	Interval    model.Duration `yaml:"interval"`
	InputSeries []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	AlertRuleTest []alertTest `yaml:"alert_rule_test"`
}

type alertTest struct {
	EvalTime  model.Duration `yaml:"eval_time"`
	AlertName string         `yaml:"alertname"`
	ExpAlerts []struct {
		ExpLabels      map[string]string `yaml:"exp_labels"`
		ExpAnnotations map[string]string `yaml:"exp_annotations"`
	} `yaml:"exp_alerts"`
}

func testRules(file string) []error {
	var read testFile
	if err := readStrictly(file, &read); err != nil {
		return []error{fmt.Errorf("%s: %w", file, err)}
	}
	var errs []error
	for _, group := range read.Tests {
		for _, err := range group.run(filepath.Dir(file), read) {
			errs = append(errs, fmt.Errorf("%s: %w", group.Name, err))
		}
	}
	return errs
}

func readStrictly(file string, target any) error {
	opened, err := os.Open(file)
	if err != nil {
		return err
	}
	defer opened.Close()
	decoder := yaml.NewDecoder(opened)
	decoder.KnownFields(true)
	return decoder.Decode(target)
}

// run evaluates every rule at every interval, as Prometheus does, and compares at the times that are asked for.
func (group testGroup) run(folder string, file testFile) []error {
	rules, errs := group.rules(folder, file.RuleFiles)
	if len(errs) > 0 {
		return errs
	}
	var series samples
	for _, each := range group.InputSeries {
		if err := series.add(each.Series, each.Values, time.Duration(group.Interval)); err != nil {
			return []error{err}
		}
	}
	ask, every := series.asker(), time.Duration(file.EvaluationInterval)
	for passed := time.Duration(0); passed <= group.end(); passed += every {
		for _, rule := range rules {
			if err := rule.evaluate(ask, time.Unix(0, 0).Add(passed)); err != nil {
				return append(errs, err)
			}
		}
		for _, test := range group.AlertRuleTest {
			if asked := time.Duration(test.EvalTime); passed <= asked && asked < passed+every {
				errs = append(errs, test.compare(rules)...)
			}
		}
	}
	return errs
}

func (group testGroup) rules(folder string, files []string) (rules []*alertRule, errs []error) {
	for _, file := range files {
		if !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		found, wrong := readRules(file)
		rules, errs = append(rules, found...), append(errs, wrong...)
	}
	return rules, errs
}

func (group testGroup) end() (latest time.Duration) {
	for _, test := range group.AlertRuleTest {
		latest = max(latest, time.Duration(test.EvalTime))
	}
	return latest
}

func (test alertTest) compare(rules []*alertRule) []error {
	known := slices.ContainsFunc(rules, func(rule *alertRule) bool { return rule.Alert == test.AlertName })
	if expected, fires := test.expected(), test.firing(rules); !known || expected != fires {
		return []error{fmt.Errorf("%s at %s\n    expected: %s\n    fires:    %s", test.AlertName, test.EvalTime, expected, fires)}
	}
	return nil
}

func (test alertTest) expected() string {
	var lines []string
	for _, each := range test.ExpAlerts {
		named := labels.NewBuilder(labels.FromMap(each.ExpLabels)).Set(labels.AlertName, test.AlertName)
		lines = append(lines, named.Labels().String()+" "+labels.FromMap(each.ExpAnnotations).String())
	}
	return joined(lines)
}

func (test alertTest) firing(rules []*alertRule) string {
	var lines []string
	for _, rule := range rules {
		for _, each := range rule.active {
			if rule.Alert == test.AlertName && each.fires {
				lines = append(lines, each.labels.String()+" "+each.annotations.String())
			}
		}
	}
	return joined(lines)
}

func joined(lines []string) string {
	if len(lines) == 0 {
		return "nothing"
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n              ")
}
