package options_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/config"
	"github.com/gorosbag/gorosbag/internal/program/options"
)

// parse reads options of the web page, and of a configuration file. Tokens that are bad, and port 1 without a token, are refused.
func parse(args ...string) (*options.Web, error) {
	w := new(options.Web)
	refuse := func(bad bool) error {
		if bad {
			return errors.New("want something else")
		}
		return nil
	}
	group := w.Group(func(token string) error { return refuse(token == "bad") },
		func(address string, hasToken bool) error {
			return refuse(strings.HasSuffix(address, ":1") && !hasToken)
		})
	_, err := (&config.Program{Name: "gosample", Groups: []config.Group{group, {Options: []config.Option{
		{Name: "config", Arg: "FILE", Value: config.Text(new(string))},
	}}}}).Parse(args)
	return w, err
}

func TestToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token, empty := write("token", " abc def\n"), write("empty", "\n")
	tests := map[string]struct {
		args          string
		want, wantErr string
	}{
		"none":       {},
		"given":      {args: "--http=:1 --http-token=abc", want: "abc"},
		"file":       {args: "--http=:1 --http-token-file=" + token, want: "abc def"},
		"both":       {args: "--http-token=abc --http-token-file=" + token, wantErr: "there are two tokens: leave out --http-token or --http-token-file"},
		"empty":      {args: "--http-token-file=" + empty, wantErr: `--http-token-file: "` + empty + `": the file is empty: want a token`},
		"large":      {args: "--http-token-file=" + write("large", strings.Repeat("x", 5000)), wantErr: "longer than 4096 bytes"},
		"away":       {args: "--http-token-file=" + filepath.Join(dir, "away"), wantErr: "no such file or directory: want a file with the token"},
		"other file": {args: "--http-token-file=" + token + " --config=" + write("robot.yaml", "http_token_file: "+filepath.Join(dir, "away")+"\n"), want: "abc def"},
		"bad":        {args: "--http=:1 --http-token=bad", wantErr: "--http-token: want something else"},
		"bad file":   {args: "--http-token-file=" + write("bad", "bad"), wantErr: "want something else"},
		"open":       {args: "--http=:1", wantErr: `--http: ":1": want something else`},
		"host":       {args: "--http-host=http://a", wantErr: `--http-host: "http://a": want a name alone`},
		"view alone": {args: "--http-view-token=abc", wantErr: "give --http-token or --http-token-file, too"},
		"view same":  {args: "--http-token=abc --http-view-token=abc", wantErr: "must differ from --http-token"},
		"same file":  {args: "--http-view-token=same --http-token-file=" + write("same", "same\n"), wantErr: "must differ from --http-token"},
		"bare, open": {args: "--http"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, err := parse(strings.Fields(test.args)...)
			if w.Token() != test.want && err == nil || (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) || err != nil && strings.Contains(err.Error(), "; ") {
				t.Errorf("%q, %v; want %q, %q", w.Token(), err, test.want, test.wantErr)
			}
		})
	}
}
