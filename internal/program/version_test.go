package program

import (
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	machine := runtime.GOOS + "/" + runtime.GOARCH
	commit := []debug.BuildSetting{
		{Key: "vcs", Value: "git"},
		{Key: "vcs.revision", Value: "0123456789abcdef0123456789abcdef01234567"},
		{Key: "vcs.time", Value: "2026-11-23T09:12:04Z"},
		{Key: "vcs.modified", Value: "false"},
	}
	modified := slices.Clone(commit)
	modified[3].Value = "true"
	tests := map[string]struct {
		version  string
		settings []debug.BuildSetting
		want     string
	}{
		"release":         {"v1.2.3", commit, "v1.2.3 (commit 0123456789ab of 2026-11-23T09:12:04Z, go1.26.8, " + machine + ")"},
		"modified":        {"v1.2.3+dirty", modified, "v1.2.3+dirty (commit 0123456789ab of 2026-11-23T09:12:04Z, modified, go1.26.8, " + machine + ")"},
		"go install":      {"v1.2.3", nil, "v1.2.3 (go1.26.8, " + machine + ")"},
		"without git":     {"(devel)", nil, "development build (go1.26.8, " + machine + ")"},
		"without version": {"", nil, "development build (go1.26.8, " + machine + ")"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := &debug.BuildInfo{GoVersion: "go1.26.8", Main: debug.Module{Version: test.version}, Settings: test.settings}
			if got := describeBuild(info); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}
