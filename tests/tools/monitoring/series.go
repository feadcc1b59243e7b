package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"
	"github.com/prometheus/prometheus/util/annotations"
)

// samples are series in memory, for the PromQL engine.
type samples []promql.Series

// add puts in a series in the notation of promtool, one value an interval, beginning at 1970.
func (found *samples) add(series, values string, interval time.Duration) error {
	metric, sequence, err := promQL.ParseSeriesDesc(series + " " + values)
	if err != nil {
		return err
	}
	points := []promql.FPoint{}
	for i, value := range sequence {
		if value.Histogram != nil {
			return errors.New("native histograms are not known here")
		}
		if !value.Omitted {
			points = append(points, promql.FPoint{T: int64(i) * interval.Milliseconds(), F: value.Value})
		}
	}
	*found = append(*found, promql.Series{Metric: metric, Floats: points})
	return nil
}

// asker returns what asks these series by PromQL at one time, as Prometheus asks for rules.
func (found samples) asker() template.QueryFunc {
	engine := promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1_000_000, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: promQL,
	})
	return func(ctx context.Context, expression string, at time.Time) (promql.Vector, error) {
		query, err := engine.NewInstantQuery(ctx, found, nil, expression, at)
		if err != nil {
			return nil, err
		}
		defer query.Close()
		result := query.Exec(ctx)
		if result.Err == nil {
			result.Err = errors.Join(result.Warnings.AsErrors()...)
		}
		if result.Err != nil {
			return nil, result.Err
		}
		vector, err := result.Vector()
		return slices.Clone(vector), err
	}
}

func (found samples) Querier(int64, int64) (storage.Querier, error) {
	return querier{series: found}, nil
}

type querier struct {
	storage.LabelQuerier
	series samples
}

func (querier) Close() error { return nil }

func (from querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	chosen := &seriesSet{at: -1}
	for _, series := range from.series {
		if matches(series.Metric, matchers) {
			chosen.series = append(chosen.series, series)
		}
	}
	return chosen
}

func matches(metric labels.Labels, matchers []*labels.Matcher) bool {
	return !slices.ContainsFunc(matchers, func(each *labels.Matcher) bool { return !each.Matches(metric.Get(each.Name)) })
}

type seriesSet struct {
	series []promql.Series
	at     int
}

func (set *seriesSet) Next() bool                        { set.at++; return set.at < len(set.series) }
func (set *seriesSet) At() storage.Series                { return promql.NewStorageSeries(set.series[set.at]) }
func (set *seriesSet) Err() error                        { return nil }
func (set *seriesSet) Warnings() annotations.Annotations { return nil }
