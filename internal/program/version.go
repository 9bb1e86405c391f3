package program

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Version describes the build as --version prints it after the program's name, for example
// "v1.2.3 (commit 0123456789ab of 2026-11-23T09:12:04Z, go1.26.8, linux/amd64)". A build without
// version control has no commit, and is a "development build".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown version"
	}
	return describeBuild(info)
}

func describeBuild(info *debug.BuildInfo) string {
	version := info.Main.Version
	if version == "" || version == "(devel)" {
		version = "development build"
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	var parts []string
	if commit := settings["vcs.revision"]; commit != "" {
		parts = append(parts, "commit "+commit[:min(len(commit), 12)]+" of "+settings["vcs.time"])
	}
	if settings["vcs.modified"] == "true" {
		parts = append(parts, "modified")
	}
	parts = append(parts, info.GoVersion, runtime.GOOS+"/"+runtime.GOARCH)
	return version + " (" + strings.Join(parts, ", ") + ")"
}
