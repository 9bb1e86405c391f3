package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/config"
)

func TestHTTPAddress(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  string
		want config.HTTPAddress
	}{
		"off":              {args: []string{"/t"}},
		"bare":             {args: []string{"--http", "/t"}, want: config.DefaultHTTPAddress},
		"address":          {args: []string{"--http", "127.0.0.1:9000", "/t"}, want: "127.0.0.1:9000"},
		"address with =":   {args: []string{"--http=[::1]:9000", "/t"}, want: "[::1]:9000"},
		"any address":      {args: []string{"--http", ":9000", "/t"}, want: ":9000"},
		"host":             {args: []string{"--http=robot", "/t"}, want: "robot:8765"},
		"port":             {args: []string{"--http=9000", "/t"}, want: "127.0.0.1:9000"},
		"environment":      {args: []string{"/t"}, env: "0.0.0.0:80", want: "0.0.0.0:80"},
		"environment says": {args: []string{"/t"}, env: "true", want: config.DefaultHTTPAddress},
		"environment no":   {args: []string{"/t"}, env: "false"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GORECORD_HTTP", test.env)
			var c config.Record
			if err := config.Parse("gorecord", "", "", test.args, &c); err != nil {
				t.Fatal(err)
			}
			if c.Web.Listen != test.want || len(c.Topics) != 1 {
				t.Errorf("%q and topics %q, want %q", c.Web.Listen, c.Topics, test.want)
			}
		})
	}
}

func TestHTTPToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := map[string]struct {
		web     config.Web
		want    string
		wantErr string
	}{
		"none":  {},
		"given": {web: config.Web{Token: "abc"}, want: "abc"},
		"file":  {web: config.Web{TokenFile: write("token", " abc def\n")}, want: "abc def"},
		"both":  {web: config.Web{Token: "abc", TokenFile: "x"}, wantErr: "exclude each other"},
		"empty": {web: config.Web{TokenFile: write("empty", "\n")}, wantErr: "is empty: want a token"},
		"large": {web: config.Web{TokenFile: write("large", strings.Repeat("x", 5000))}, wantErr: "is longer than 4096 bytes"},
		"away":  {web: config.Web{TokenFile: filepath.Join(dir, "away")}, wantErr: "the file of --http-token-file: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := test.web.Secret()
			if got != test.want || (err == nil) != (test.wantErr == "") || err != nil && !strings.Contains(err.Error(), test.wantErr) {
				t.Errorf("%q, %v; want %q, %q", got, err, test.want, test.wantErr)
			}
		})
	}
}

// TestSecretsAreNotPrinted: what --print-config shows may be sent to others.
func TestSecretsAreNotPrinted(t *testing.T) {
	t.Parallel()
	var c config.Record
	if err := config.Parse("gorecord", "", "", []string{"--http-token=hunter2hunter2hunter2", "/t"}, &c); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if err := config.PrintSettings(&b, c.Settings(), nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "hunter2") || !strings.Contains(b.String(), "http_token: ") {
		t.Errorf("printed:\n%s", b.String())
	}
}
