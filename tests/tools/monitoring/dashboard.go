package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
)

// checkDashboard decodes a dashboard by Grafana's schema, in which no field may be unknown, and parses its queries.
// A panel or data source of a kind that is not registered here is an error: its options would not be looked at.
func checkDashboard(file string) (errs []error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return []error{err}
	}
	register()
	if errs := wrong(new(dashboard.Dashboard).UnmarshalJSONStrict(text)); len(errs) > 0 {
		return errs
	}
	var board dashboard.Dashboard // anew, because the strict decoder finds what is wrong with panels and leaves them out
	if err := json.Unmarshal(text, &board); err != nil {
		return []error{err}
	}
	errs = wrong(board.Validate())
	for _, each := range board.Panels {
		errs = append(errs, checkPanel(each.Panel)...)
	}
	return errs
}

// wrong returns the single errors; a list of none is what Grafana's decoder returns where all is well.
func wrong(err error) (errs []error) {
	var list cog.BuildErrors
	if err != nil && !errors.As(err, &list) {
		return []error{err}
	}
	for _, each := range list {
		errs = append(errs, each)
	}
	return errs
}

func register() {
	runtime := cog.NewRuntime()
	runtime.RegisterPanelcfgVariant(stat.VariantConfig())
	runtime.RegisterPanelcfgVariant(timeseries.VariantConfig())
	runtime.RegisterDataqueryVariant(prometheus.VariantConfig())
}

func checkPanel(panel *dashboard.Panel) (errs []error) {
	if panel == nil {
		return []error{fmt.Errorf("only panels are known here, no rows")}
	}
	title := "panel"
	if panel.Title != nil {
		title = *panel.Title
	}
	if _, known := cog.NewRuntime().ConfigForPanelcfgVariant(panel.Type); !known {
		errs = append(errs, fmt.Errorf("%s: panels of type %s are not known here", title, panel.Type))
	}
	for _, target := range panel.Targets {
		query, ok := target.(*prometheus.Dataquery)
		if !ok {
			errs = append(errs, fmt.Errorf("%s: a query of type %T is not known here", title, target))
			continue
		}
		if _, err := promQL.ParseExpr(strings.ReplaceAll(query.Expr, "$__rate_interval", "5m")); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", title, err))
		}
	}
	return errs
}
