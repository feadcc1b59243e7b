package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/template"
)

var promQL = parser.NewParser(parser.Options{})

func checkRules(file string) []error {
	_, errs := readRules(file)
	return errs
}

// readRules returns the alerts of a file.
func readRules(file string) ([]*alertRule, []error) {
	read, errs := rulefmt.ParseFile(file, false, model.UTF8Validation, promQL, slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errs
	}
	var found []*alertRule
	for _, group := range read.Groups {
		for _, rule := range group.Rules {
			if rule.Alert == "" || rule.KeepFiringFor != 0 {
				return nil, []error{fmt.Errorf("%s: only alerts without keep_firing_for are known here", file)}
			}
			found = append(found, &alertRule{Rule: rule})
		}
	}
	return found, nil
}

// alertRule is a rule and what it found at its last evaluation.
type alertRule struct {
	rulefmt.Rule
	active map[uint64]alert
}

// alert has been true since a time; it fires when that is as long ago as the rule demands.
type alert struct {
	since               time.Time
	fires               bool
	labels, annotations labels.Labels
}

// evaluate asks for the expression at a time. Warnings of the engine count as errors.
func (rule *alertRule) evaluate(ask template.QueryFunc, now time.Time) error {
	found, err := ask(context.Background(), rule.Expr, now)
	if err != nil {
		return fmt.Errorf("%s at %s: %w", rule.Alert, now.UTC().Format(time.TimeOnly), err)
	}
	active := map[uint64]alert{}
	for _, sample := range found {
		each := alert{since: now}
		if each.labels, each.annotations, err = rule.describe(ask, sample, now); err != nil {
			return err
		}
		key := each.labels.Hash()
		if before, ok := rule.active[key]; ok {
			each.since = before.since
		}
		each.fires = now.Sub(each.since) >= time.Duration(rule.For)
		active[key] = each
	}
	rule.active = active
	return nil
}

// describe returns the labels and annotations of an alert, with its templates filled in.
func (rule *alertRule) describe(ask template.QueryFunc, sample promql.Sample, now time.Time) (labels.Labels, labels.Labels, error) {
	named := labels.NewBuilder(sample.Metric).Del(labels.MetricName).Set(labels.AlertName, rule.Alert)
	told := labels.NewBuilder(labels.EmptyLabels())
	for target, texts := range map[*labels.Builder]map[string]string{named: rule.Labels, told: rule.Annotations} {
		for name, text := range texts {
			filled, err := rule.fill(text, ask, sample, now)
			if err != nil {
				return labels.EmptyLabels(), labels.EmptyLabels(), fmt.Errorf("%s, %s: %w", rule.Alert, name, err)
			}
			target.Set(name, filled)
		}
	}
	return named.Labels(), told.Labels(), nil
}

func (rule *alertRule) fill(text string, ask template.QueryFunc, sample promql.Sample, now time.Time) (string, error) {
	const names = "{{$labels := .Labels}}{{$externalLabels := .ExternalLabels}}{{$externalURL := .ExternalURL}}{{$value := .Value}}"
	data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	at := model.TimeFromUnixNano(now.UnixNano())
	return template.NewTemplateExpander(context.Background(), names+text, rule.Alert, data, at, ask, &url.URL{}, nil).Expand()
}
