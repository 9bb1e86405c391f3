package config_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorosbag/gorosbag/config"
)

func TestFile(t *testing.T) {
	t.Parallel()
	path := writeConfig(t, `# the robot
topics: [/imu, /tf]
exclude:
  - /camera/.*,x
  - '*?'
max-rate: {/imu: 10, "/a b": 2.5}
every:
  /scan: 3
count: /scan=9
note: {robot: r7, "a=b": c}
buffsize: 010
split: 100
max_age: 1.5m
max_bytes: 5G
lz4: yes
flush_interval: 2s
embedded_master: true
allow_remote_shutdown: false
ros_master_uri: http://robot:11311
`)
	r, _, err := parseSample("--config", path)
	if err != nil {
		t.Fatal(err)
	}
	want := sample{
		Topics: []string{"/imu", "/tf"}, Exclude: []string{"/camera/.*,x", "*?"}, MaxRate: map[string]float64{"/imu": 10, "/a b": 2.5},
		Every: map[string]int{"/scan": 3}, Count: map[string]int{"/scan": 9}, Notes: []string{"robot=r7", "a=b=c"}, Buffsize: 10, Chunksize: 768, Split: split{true, 100},
		MaxAge: 90 * time.Second, MaxBytes: 5 << 30, MinSpace: 1 << 30, LZ4: true, FlushInterval: 2 * time.Second, Overflow: "drop",
		Master: masterAddress, MasterURI: "http://robot:11311",
	}
	if d := cmp.Diff(want, *r, cmpopts.IgnoreUnexported(sample{})); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

// TestPrecedence: flag, environment, file, default. A list is replaced, not added to.
func TestPrecedence(t *testing.T) {
	path := writeConfig(t, "topics: [/file]\nbuffsize: 1\nchunksize: 1\nlimit: 1\noutput_name: file\nexclude: [/x]\nlz4: true\nevery: {/a: 5, /b: 6}\nmax_rate: {/a: 1}\n")
	t.Setenv("GOSAMPLE_CONFIG", path)
	t.Setenv("GOSAMPLE_CHUNKSIZE", "2")
	t.Setenv("GOSAMPLE_LIMIT", "2")
	t.Setenv("GOSAMPLE_OUTPUT_NAME", "")
	t.Setenv("GOSAMPLE_EXCLUDE", "/y,z\n/v")
	t.Setenv("GOSAMPLE_LIMITS", "3")
	t.Setenv("GOSAMPLE_PORT_11311_TCP", "tcp://10.0.0.1:11311")
	t.Setenv("ROS_MASTER_URI", "http://10.1.1.1")
	r, all, err := parseSample("/flag", "-l", "3", "--http-token=robot", "--every", "/a=2", "--lz4=false")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range all.List() {
		got[s.Key] = strings.Join(s.Values, "|") + " " + strings.ReplaceAll(s.Origin, path, "FILE")
	}
	for key, want := range map[string]string{
		"topics": "/flag flag", "limit": "3 flag", "chunksize": "2 environment GOSAMPLE_CHUNKSIZE", "buffsize": "1 FILE:2",
		"output_name": "file FILE:5", "exclude": "/y,z|/v environment GOSAMPLE_EXCLUDE", "min_space": "1G default", "max_age": " default",
		"every": "/a=2 flag", "max_rate": "/a=1 FILE:9", "lz4": "false flag", "ros_master_uri": "http://10.1.1.1 environment ROS_MASTER_URI", "all": "false default",
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if d := cmp.Diff([]string{"/flag"}, r.Topics); d != "" || r.Limit != 3 || r.Chunksize != 2 || r.Buffsize != 1 || r.OutputName != "file" || r.LZ4 || len(r.Every) != 1 {
		t.Errorf("%+v", r)
	}
	if d := cmp.Diff([]string{"the variable GOSAMPLE_LIMITS is not known; did you mean GOSAMPLE_LIMIT?"}, all.Unknown()); d != "" {
		t.Error(d)
	}
	r, _, err = parseSample("--topic", "/flag")
	if err != nil || cmp.Diff([]string{"/flag"}, r.Topics) != "" {
		t.Errorf("%v, %v", r.Topics, err)
	}
}

// TestFileErrors is what a new user gets wrong. Each message names the file, the line,
// the key, and what to do.
func TestFileErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ in, want string }{
		"typo":                     {"all: true\nmax_rat: {/a: 1}\n", "robot.yaml:2: max_rat: there is no such option; did you mean max_rate?"},
		"swapped letters":          {"al: true\n", "robot.yaml:1: al: there is no such option; did you mean all?"},
		"short option":             {"a: true\n", "robot.yaml:1: a: there is no such option; did you mean all?"},
		"with dashes":              {"--all: true\n", "robot.yaml:1: --all: there is no such option; did you mean all?"},
		"variable":                 {"GOSAMPLE_MAX_BYTES: 5G\n", "did you mean max_bytes?"},
		"without underscore":       {"maxbytes: 5G\n", "did you mean max_bytes?"},
		"singular":                 {"topic: /a\n", ""},
		"nothing like it":          {"gorecord:\n  all: true\n", "robot.yaml:1: gorecord: there is no such option; the keys are the long options of --help, with _ for -"},
		"strange key":              {"\"a\\tb\\e[2J\": 1\n", `robot.yaml:1: "a\tb\x1b[2J": there is no such option`},
		"twice":                    {"all: true\n\nall: false\n", "robot.yaml:3: all: set twice, first in line 1; remove one"},
		"twice in other words":     {"max-bytes: 5G\nmax_bytes: 6G\n", "robot.yaml:2: max_bytes: set twice, first in line 1; remove one"},
		"twice in a mapping":       {"all: true\nmax_rate:\n  /a: 1\n  /a: 2\n", "robot.yaml:4: max_rate: /a is set twice, first in line 3; remove one"},
		"no blank":                 {"all:true\n", `robot.yaml:1: want KEY: VALUE on each line, with a blank after the colon, not "all:true"`},
		"no blank further down":    {"lz4: true\nall:true\n", `robot.yaml:2: not valid YAML: could not find expected ':' in "all:true" (want KEY: VALUE, with a blank after the colon and`},
		"a list":                   {"- /imu\n", "robot.yaml:1: want KEY: VALUE on each line"},
		"tab in a line further on": {"lz4: true\n\tall: true\n", `robot.yaml:2: not valid YAML: found a tab character that violates indentation in "all: true" (indent with blanks, not with tabs)`},
		"tab after a list":         {"topics:\n  - /a\n\t- /b\n", `robot.yaml:3: not valid YAML: `},
		"tab in a text":            {"all: true\noutput_name: a\n\n\tb\n", `robot.yaml:4: not valid YAML: `},
		"error after a tab":        {"all: true\n\t\nlz4:\tmaybe\n", `robot.yaml:3: lz4: "maybe": want true or false`},
		"tab":                      {"all: true\nmax_rate:\n\t/a: 1\n", `robot.yaml:3: not valid YAML: found character that cannot start any token in "/a: 1" (indent with blanks, not with tabs)`},
		"open quote":               {"all: true\noutput_name: \"x\nlz4: true\n", `robot.yaml:2: not valid YAML:`},
		"bad indentation":          {"all: true\nlz4: true\n  params: true\n", `robot.yaml:3: not valid YAML: `},
		"indentation further on":   {"all: true\nlz4: true\n /a: 1\n", `robot.yaml:3: not valid YAML: `},
		"open bracket":             {"topics: [/a, /b\nlz4: true\n", `robot.yaml:1: not valid YAML:`},
		"unquoted star":            {"exclude: *image\n", "robot.yaml:1: not valid YAML: unknown anchor 'image' referenced in \"exclude: *image\" (want KEY: VALUE, with a blank after the colon and the keys of one level in one column; text with special characters belongs into 'quotes')"},
		"no number":                {"all: true\nbuffsize: many\n", `robot.yaml:2: buffsize: "many": want a whole number of MiB`},
		"no truth":                 {"all: maybe\n", `robot.yaml:1: all: "maybe": want true or false`},
		"not one of":               {"all: true\noverflow: wait\n", `robot.yaml:2: overflow: "wait": want one of drop, block`},
		"bad unit":                 {"all: true\nmax_age: 5x\n", `robot.yaml:2: max_age: "5x": Duration unit must be s, m, or h`},
		"time with a wrong unit":   {"all: true\nflush_interval: 5x\n", `robot.yaml:2: flush_interval: "5x": Duration unit must be s, m, or h`},
		"bad size":                 {"all: true\nmin_space: lots\n", `robot.yaml:2: min_space: "lots": want a number of bytes`},
		"bad pair":                 {"all: true\nmax_rate:\n  /a: fast\n", "robot.yaml:3: max_rate: "},
		"list instead of pairs":    {"all: true\nmax_rate: [/a]\n", "want TOPIC=HZ, in a file written as TOPIC: HZ"},
		"list of a number":         {"buffsize: [1]\n", "robot.yaml:1: buffsize: a list, but the option has one value (want a whole number of MiB)"},
		"list of a time":           {"flush_interval: [1s]\n", "robot.yaml:1: flush_interval: a list, but the option has one value (want TIME)"},
		"list of one":              {"output_name: [x]\n", "robot.yaml:1: output_name: a list, but the option has one value (want NAME)"},
		"mapping of one":           {"output_name: {x: y}\n", "robot.yaml:1: output_name: keys and values, but the option has none (want NAME)"},
		"mapping of a list":        {"topics: {/a: 1}\n", "robot.yaml:1: topics: keys and values, but the option has none (want TOPIC)"},
		"empty list":               {"lz4: true\ntopics: []\n", "robot.yaml:2: topics: No topics specified. Name topics, or use -a for all"},
		"open quote at the end":    {"all: true\noutput_name: \"x", `robot.yaml:2: not valid YAML: `},
		"no blank in a pair":       {"all: true\nmax_rate: {/imu:10}\n", "robot.yaml:2: max_rate: /imu:10: there is no value"},
		"too deep":                 {"topics: [[/a]]\n", "robot.yaml:1: topics: want one value here, not a list"},
		"no value":                 {"all: true\nexclude:\n#  - /a\n", "robot.yaml:2: exclude: there is no value; give one, or remove the line"},
		"of the command line":      {"version: true\n", "robot.yaml:1: version: this is for the command line only"},
		"of it, with _":            {"print_config: true\n", "robot.yaml:1: print_config: this is for the command line only"},
		"a file in a file":         {"config: x.yaml\n", "robot.yaml:1: config: this is for the command line only"},
		"two documents":            {"all: true\n---\nlz4: true\n", "robot.yaml:"},
		"anchor":                   {"topics: &t [/a]\nexclude: *t\n", "robot.yaml:1: topics: &names and *references are not supported"},
		"merge":                    {"<<: {all: true}\n", "robot.yaml:1: want the name of an option before the colon"},
		"tag":                      {"output_name: !x y\n", "robot.yaml:1: output_name: tags are not supported; put text that begins with ! in 'quotes'"},
		"bomb":                     {"topics: &a [x,x]\nexclude: &b [*a,*a]\ntype: [*b,*b]\n", "are not supported"},
		"deep":                     {strings.Repeat("[", 100_000), "exceeded max depth"},
		"huge":                     {strings.Repeat("# much\n", 100_000), "longer than 256 KiB"},
		"contradiction":            {"all: true\nlz4: true\nbz2: true\n", "robot.yaml:3: bz2: leave out --bz2 or --lz4 (lz4: "},
		"contradiction by name":    {"all: true\nmax_age: 1h\n", "robot.yaml:2: max_age: \"1h\": deletes closed files: needs --split"},
		"out of range":             {"all: true\nbuffsize: -1\n", "robot.yaml:2: buffsize: \"-1\": Buffer size must be 0 or positive"},
		"nothing to record":        {"lz4: true\n", "robot.yaml: No topics specified. Name topics, or use -a for all"},
		"empty":                    {"", "robot.yaml: No topics specified"},
		"comments only":            {"# all: true\n", "robot.yaml: No topics specified"},
		"latin 1":                  {"output_name: \xe9\n", "robot.yaml:"},
		"no positive number":       {"topics: [/a]\nmax_rate: {/a: 0}\n", "robot.yaml:2: max_rate: \"/a=0\": want TOPIC=N with a positive N"},
		"snapshots and no split":   {"all: true\nsnapshot: true\nsplit: true\n", "robot.yaml:3: split: leave out --split or --snapshot (snapshot: "},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := writeConfig(t, tc.in)
			_, _, err := parseSample("--config", path)
			switch {
			case tc.want == "" && err != nil:
				t.Error(err)
			case tc.want == "":
			case err == nil:
				t.Errorf("no error, want %q", tc.want)
			default:
				got := strings.ReplaceAll(err.Error(), filepath.Dir(path)+"/", "")
				if !strings.Contains(got, tc.want) || strings.ContainsAny(got, "\n\x1b") {
					t.Errorf("got %q, want %q in one line", got, tc.want)
				}
			}
		})
	}
}

// TestAllErrors: all that is wrong is said at once, in the order of the lines, but not what only
// seems to be wrong because another value cannot be read.
func TestAllErrors(t *testing.T) {
	path := writeConfig(t, "topcs: [/a]\nbuffsize: -1\nmax_rate:\n  /a: 1\n  /b: x\nmax_age: 1h\nsplt: true\nlz4: true\nbz2: true\ntopics:\n- /a\n- /b c\n")
	t.Setenv("GOSAMPLE_CHUNKSIZE", "x")
	_, _, err := parseSample("--config", path, "--limit=many")
	var got []string
	for _, err := range err.(interface{ Unwrap() []error }).Unwrap() {
		got = append(got, strings.TrimPrefix(err.Error(), path+":"))
	}
	want := []string{
		`--limit: "many": want a whole number`,
		`environment GOSAMPLE_CHUNKSIZE: chunksize: "x": want a whole number of KiB`,
		"1: topcs: there is no such option; did you mean topics?",
		`2: buffsize: "-1": Buffer size must be 0 or positive`,
		`5: max_rate: "/b=x": want TOPIC=HZ, in a file written as TOPIC: HZ, where HZ is a number`,
		"7: splt: there is no such option; did you mean split?",
		"9: bz2: leave out --bz2 or --lz4 (lz4: " + path + ":8)",
		`12: topics: "/b c": want no blanks`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}

func TestFileThatIsNone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, path := range []string{dir, filepath.Join(dir, "missing.yaml")} {
		if _, _, err := parseSample("-a", "--config", path); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "--config") {
			t.Errorf("got %v", err)
		}
	}
}

func TestNoFileName(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.yaml")
	if _, _, err := parseSample("-a", "--config", ""); err == nil || !strings.Contains(err.Error(), "--config: want the name of a file") {
		t.Errorf("got %v", err) // --config "$UNSET" must not record something else
	}
	t.Setenv("GOSAMPLE_CONFIG", path)
	if _, _, err := parseSample("-a"); err == nil || !strings.Contains(err.Error(), "environment GOSAMPLE_CONFIG: config: \""+path+"\": no such file or directory") {
		t.Errorf("got %v", err)
	}
}

// TestSwitchWords: all switches know the same words, also those that may have another
// value.
func TestSwitchWords(t *testing.T) {
	t.Parallel()
	for word, on := range map[string]bool{"true": true, "yes": true, "Yes": true, "TRUE": true, "false": false, "no": false, "False": false} {
		file := "all: true\nlz4: WORD\nsplit: WORD\nhttp: WORD\nembedded_master: WORD\n"
		r, _, err := parseSample("--config", writeConfig(t, strings.ReplaceAll(file, "WORD", word)))
		if err != nil {
			t.Errorf("%s: %v", word, err)
			continue
		}
		want := sample{LZ4: on, Split: split{On: on}}
		if on {
			want.Master, want.HTTP = masterAddress, httpAddress
		}
		got := sample{LZ4: r.LZ4, Split: r.Split, Master: r.Master, HTTP: r.HTTP}
		if d := cmp.Diff(want, got, cmpopts.IgnoreUnexported(sample{})); d != "" {
			t.Errorf("%s (-want +got):\n%s", word, d)
		}
	}
}

func TestErrorsElsewhere(t *testing.T) {
	path := writeConfig(t, "all: true\nlz4: true\n")
	t.Setenv("GOSAMPLE_BUFFSIZE", "many")
	_, _, err := parseSample("--config", path)
	if err == nil || !strings.HasPrefix(err.Error(), `environment GOSAMPLE_BUFFSIZE: buffsize: "many": want a whole number`) {
		t.Errorf("got %v", err)
	}
	t.Setenv("GOSAMPLE_BUFFSIZE", "")
	_, _, err = parseSample("--config", path, "-j")
	if want := path + ":2: lz4: leave out --bz2 or --lz4 (bz2: flag)"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	_, _, err = parseSample("--config", path, "--buffsize=x")
	if err == nil || strings.Contains(err.Error(), path) {
		t.Errorf("an error of the command line: %v", err)
	}
}

// TestPrintedIsReadAgain: what --print-config prints means the same.
func TestPrintedIsReadAgain(t *testing.T) {
	t.Parallel()
	in := strings.Fields(`/a /b* -x ^/c.*$ -x "#,: --max-rate /imu=10 --max-rate *=.5 -O true -b 010 --split=0100 --min-space 5G --overflow block ` +
		`--embedded-master --lz4 --allow-remote-shutdown=false --every /a=1 --every /a=2 --type /tab` + "\tx")
	_, first, err := parseSample(in...)
	if err != nil {
		t.Fatal(err)
	}
	var text, again bytes.Buffer
	if err := config.PrintSettings(&text, first.List(), []string{"a note\nall: true"}); err != nil {
		t.Fatal(err)
	}
	_, second, err := parseSample("--config", writeConfig(t, text.String()))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text.String())
	}
	settings := second.List()
	for i, s := range settings {
		if strings.Contains(s.Origin, "robot.yaml") {
			settings[i].Origin = first.List()[i].Origin
		}
	}
	if err := config.PrintSettings(&again, settings, []string{"a note\nall: true"}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(strings.Split(text.String(), "\n"), strings.Split(again.String(), "\n")); d != "" {
		t.Errorf("(-first +second):\n%s", d)
	}
	for _, want := range []string{
		"buffsize: 010 # flag", "min_space: 5G # flag", "\n# chunksize: 768 # default\n", "# max_age: not set", "max_rate: # flag\n  /imu: 10\n",
		"every: # flag\n  - \"/a=1\"\n  - \"/a=2\"\n", "lz4: true # flag\n", "allow_remote_shutdown: false # flag\n", "output_name: \"true\" # flag\n",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}

// TestPrintedOpposite: a switch that has an opposite is on by default, unless the opposite is set.
func TestPrintedOpposite(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{"": "true", "--no-repeat": "false", "--no-repeat=false": "true"} {
		p := &config.Program{Name: "gosample", Groups: []config.Group{{Title: "All", Options: []config.Option{
			{Name: "repeat", Help: "Repeat.", Value: config.Switch(new(bool))},
			{Name: "no-repeat", Help: "Do not.", Value: config.Switch(new(bool))},
			{Name: "all", Help: "All.", Value: config.Switch(new(bool))},
		}}}}
		all, err := p.Parse(strings.Fields(args))
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := config.PrintSettings(&b, all.List(), nil); err != nil {
			t.Fatal(err)
		}
		if text := b.String(); !strings.Contains(text, "# repeat: "+want+" # default\n") || !strings.Contains(text, "# all: false # default\n") {
			t.Errorf("%q:\n%s", args, text)
		}
	}
}

// TestSecret: the token of the web page is neither printed nor logged.
func TestSecret(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef-xyz"
	r, all, err := parseSample("-a", "--http", "--config", writeConfig(t, "http_token: "+token+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := config.PrintSettings(&b, all.List(), nil); err != nil {
		t.Fatal(err)
	}
	if r.Token != token || strings.Contains(b.String(), token) || !strings.Contains(b.String(), "\n# http_token: (not shown) # ") {
		t.Errorf("%q in\n%s", r.Token, b.String())
	}
	for _, s := range all.List() {
		if strings.Contains(strings.Join(s.Values, " "), token) {
			t.Errorf("%s is %q", s.Key, s.Values)
		}
	}
}

// TestSecretInErrors: a token in invalid YAML is not quoted for the log.
func TestSecretInErrors(t *testing.T) {
	t.Parallel()
	const token = "0123456789abcdef-xyz"
	for _, text := range []string{
		"http_token:" + token + "\n", "http_token: @" + token + "\n", "http_token: *" + token + "\n", "http_token: !" + token + "\n", "http_token: !" + token + " x\n",
		"http_token: \"" + token + "\n", "http-token: {" + token + "\n", "all: true\nhttp_token: [" + token + "]\n", "http_token: x: " + token + "\n", "http_token: %" + token + "\n",
		"HTTP_TOKEN:\n  @" + token + "\n", "http_token: &" + token + " x\n",
	} {
		_, _, err := parseSample("-a", "--config", writeConfig(t, text))
		if err == nil || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), "robot.yaml:") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// FuzzConfig: no text of a file makes the program panic, and what is accepted is
// printed so that it is accepted again.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		"all: true\n", "topics: [/a, '*']\nmax_rate: {/a: 1, b=c: 2}\n", "x: &a [*a]\n", "all:\n- {}\n", "? [a]\n: b\n", "all: |\n  true\n", "<<: 1\n", "\"\\0\": \t\n", "embedded_master: x\nsplit: 3\nall: 1\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, all, err := parseSample("--config", writeConfig(t, text))
		if err != nil {
			if s := err.Error(); strings.ContainsAny(s, "\n\x1b") {
				t.Errorf("%q is not one line", s)
			}
			return
		}
		var b bytes.Buffer
		if err := config.PrintSettings(&b, all.List(), nil); err != nil {
			t.Fatal(err)
		}
		if _, _, err := parseSample("--config", writeConfig(t, b.String())); err != nil {
			t.Errorf("%v in\n%s", err, b.String())
		}
	})
}

// TestURLsAreShownWithoutSecrets: options are logged, and logs are read by many.
func TestURLsAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	args := []string{"first.bag", "https://robot:hidden@h/x.bag", "https://h/y.bag?X-Amz-Signature=hidden", "s3://b/z.bag?endpoint=http://h", "s3://b/z.bag?endpoint=http://u:hidden@h", "last.bag"}
	_, all, err := parseSample(args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all.List() {
		text := strings.Join(s.Values, " ")
		if strings.Contains(text, "hidden") {
			t.Errorf("%s shows %s", s.Key, text)
		}
		if s.Key == "topics" && text != "first.bag https://not-shown@h/x.bag https://h/y.bag?not-shown s3://b/z.bag?endpoint=http://h s3://b/z.bag?not-shown last.bag" {
			t.Error(text)
		}
	}
}
