package config_test

import "testing"

func TestAddress(t *testing.T) {
	tests := map[string]struct {
		args []string
		env  string
		want string
	}{
		"off":              {args: []string{"/t"}},
		"bare":             {args: []string{"--http", "/t"}, want: httpAddress},
		"bare at the end":  {args: []string{"/t", "--http"}, want: httpAddress},
		"address":          {args: []string{"--http", "127.0.0.1:9000", "/t"}, want: "127.0.0.1:9000"},
		"address with =":   {args: []string{"--http=[::1]:9000", "/t"}, want: "[::1]:9000"},
		"any address":      {args: []string{"--http", ":9000", "/t"}, want: ":9000"},
		"host":             {args: []string{"--http=robot", "/t"}, want: "robot:8765"},
		"port":             {args: []string{"--http=9000", "/t"}, want: "127.0.0.1:9000"},
		"environment":      {args: []string{"/t"}, env: "0.0.0.0:80", want: "0.0.0.0:80"},
		"environment says": {args: []string{"/t"}, env: "true", want: httpAddress},
		"environment no":   {args: []string{"/t"}, env: "false"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("GOSAMPLE_HTTP", test.env)
			s, _, err := parseSample(test.args...)
			if err != nil {
				t.Fatal(err)
			}
			if s.HTTP != test.want || len(s.Topics) != 1 {
				t.Errorf("%q and topics %q, want %q", s.HTTP, s.Topics, test.want)
			}
		})
	}
}
