package config_test

import (
	"strings"
	"testing"
)

// TestCommandLine reads command lines as both parsers of rosbag do.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		in      string
		want    string
		wantErr string
	}{
		"words":                     {"/t /u", "topics=/t,/u", ""},
		"cluster with value":        {"-ajOname /t", "all=true bz2=true output_name=name topics=/t", ""},
		"short with space":          {"-a -O name -l 3", "all=true limit=3 output_name=name", ""},
		"short with equals":         {"-a -O=name", "all=true output_name=name", ""},
		"long with space":           {"--limit 3 /t", "limit=3 topics=/t", ""},
		"the last one counts":       {"--limit 3 -l 4 /t", "limit=4 topics=/t", ""},
		"wrong, then right":         {"--limit x -l 4 /t", "", "--limit: \"x\": want a whole number"},
		"wrong switch, then right":  {"--all=perhaps -a", "", "--all: \"perhaps\": want true or false"},
		"negative value":            {"/t -l -4", "limit=-4 topics=/t", ""},
		"value that looks like one": {"/t -O --all", "output_name=--all topics=/t", ""},
		"abbreviation":              {"--lim=3 --al", "all=true limit=3", ""},
		"alias":                     {"/t --prefix x", "output_prefix=x topics=/t", ""},
		"ambiguous":                 {"--output x", "", "ambiguous: it could be --output-name, --output-prefix"},
		"abbreviation of stock":     {"-a --max 3 --max-b 4", "all=true max_bytes=4 max_splits=3", ""},
		"unknown":                   {"--bogus", "", "unrecognised option '--bogus'"},
		"misspelled":                {"--limt 3", "", "unrecognised option '--limt': did you mean --limit?"},
		"what it does":              {"--recording x", "", "unrecognised option '--recording': did you mean --all or --topic?"},
		"unknown short":             {"-aZ", "", "unrecognised option '-Z' in '-aZ'"},
		"missing":                   {"/t --limit", "", "the required argument for option '--limit' is missing"},
		"many words":                {"--pause-topics /a /b --type x -a z", "all=true pause_topics=/a,/b topics=z type=x", ""},
		"many words at the end":     {"-a --pause-topics /a /b", "all=true pause_topics=/a,/b", ""},
		"many words, but none":      {"--pause-topics --type x", "", "the required argument for option '--pause-topics' is missing"},
		"repeat":                    {"-a -x a,b -x b", "all=true exclude=a,b,b", ""},
		"words and their option":    {"--topic /b /a", "topics=/a,/b", ""},
		"optional value absent":     {"--embedded-master /t", "embedded_master=true topics=/t", ""},
		"optional value present":    {"--embedded-master=:1 /t", "embedded_master=:1 topics=/t", ""},
		"optional value aside":      {"--embedded-master :1 /t", "embedded_master=:1 topics=/t", ""},
		"optional host aside":       {"--emb robot-1.local:11311 /t", "embedded_master=robot-1.local:11311 topics=/t", ""},
		"optional IP aside":         {"--embedded-master 10.0.0.5 --http ::1 /t", "", "--http: \"::1\": want HOST:PORT"},
		"optional port aside":       {"--http 9000 /t", "http=9000 topics=/t", ""},
		"optional localhost aside":  {"--http localhost /t", "http=localhost topics=/t", ""},
		"optional address or topic": {"--http robot7 -a", "all=true http=true topics=robot7", ""},
		"no port alone":             {"--embedded-master 9000 -a", "all=true embedded_master=true topics=9000", ""},
		"no optional value":         {"--embedded-master (?:a|b) -a", "all=true embedded_master=true topics=(?:a|b)", ""},
		"double dash":               {"-a -- -x", "all=true topics=-x", ""},
		"lone dash is a word":       {"-", "topics=-", ""},
		"switch off":                {"--all=no /t", "all=no topics=/t", ""},
		"no value of a switch":      {"--all=perhaps /t", "", "--all: \"perhaps\": want true or false"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := given(strings.Fields(tc.in))
			if tc.wantErr != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantErr) {
					t.Fatalf("got %v, want an error with %q", err, tc.wantErr)
				}
				return
			}
			if err != nil || got != tc.want {
				t.Errorf("got %s, %v\nwant %s", got, err, tc.want)
			}
		})
	}
}
