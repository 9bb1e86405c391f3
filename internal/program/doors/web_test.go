package doors_test

import (
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/program/doors"
	"github.com/gorosbag/gorosbag/internal/program/options"
)

// TestOptionsWithoutWeb: somebody who gives options of the page, and forgets --http, waits for a server that does not come.
func TestOptionsWithoutWeb(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		given options.Web
		warns int
	}{
		"nothing":    {options.Web{}, 0},
		"view token": {options.Web{ViewToken: "0123456789abcdef"}, 1},
		"host":       {options.Web{Hosts: []string{"robot7"}}, 1},
		"origin":     {options.Web{Origins: []string{"https://viewer.example.org"}}, 1},
	} {
		core, logs := observer.New(zap.WarnLevel)
		end, err := doors.ServeWeb(t.Context(), &test.given, nil, zap.New(core), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		end()
		if got := logs.FilterMessageSnippet("without --http").Len(); got != test.warns {
			t.Errorf("%s: %d warnings, want %d", name, got, test.warns)
		}
	}
}
