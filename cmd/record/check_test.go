package main

import (
	"testing"

	"go.uber.org/zap"
)

// wrongValues are the texts of files with one wrong value each, with what the error says after the name of the file:
// the line, the key, the value and what is allowed.
var wrongValues = map[string]string{
	"topics: [/a]\nmax_rte: 5":                                  `2: max_rte: there is no such option; did you mean max_rate?`,
	"topics: [/a]\nname: rec":                                   `2: name: there is no such option; ROS arguments stand on the command line only: __name:=VALUE`,
	"topics: [/a]\nnode_name: rec":                              `2: node_name: there is no such option; ROS arguments stand on the command line only: __name:=VALUE`,
	"topics: [/a]\n__ns: robot":                                 `2: __ns: there is no such option; ROS arguments stand on the command line only: __ns:=VALUE`,
	"all: maybe":                                                `1: all: "maybe": want true or false`,
	"all: true\nbuffsize: many":                                 `2: buffsize: "many": want a whole number of MiB`,
	"all: true\nbuffsize: -1":                                   `2: buffsize: "-1": Buffer size must be 0 or positive: a number of MiB, 256 by default; 0 is no limit`,
	"all: true\nchunksize: 0x10":                                `2: chunksize: "0x10": want a whole number of KiB`,
	"all: true\nlimit: 2.5":                                     `2: limit: "2.5": want a whole number`,
	"all: true\nflush_interval: 5x":                             `2: flush_interval: "5x": want a number of seconds, or a time such as 1m30s`,
	"all: true\nflush_interval: 1us":                            `2: flush_interval: "1us": want at least 1ms`,
	"all: true\nsplit: sometimes":                               `2: split: "sometimes": want true, false or a number of MiB`,
	"all: true\nsplit: true\nsize: 1G":                          `3: size: "1G": want a whole number of MiB`,
	"all: true\nsplit: true\nduration: 5 minutes":               `3: duration: "5 minutes": Duration unit must be s, m, or h`,
	"all: true\nsplit: true\nsplit_at: 0.5":                     `3: split_at: "0.5": want at least 1s, such as 10m`,
	"all: true\nmin_space: lots":                                `2: min_space: "lots": want a number of bytes, or one with K, M or G`,
	"all: true\noverflow: wait":                                 `2: overflow: "wait": want one of drop, block`,
	"all: true\nsync: always":                                   `2: sync: "always": want one of none, interval, chunk`,
	"all: true\nsummary: yes":                                   `2: summary: "yes": want one of on-loss, always, never`,
	"all: true\nlog_level: loud":                                `2: log_level: "loud": want one of debug, info, warn, error`,
	"all: true\nlog_format: xml":                                `2: log_format: "xml": want one of text, json`,
	"topics:\n  - /a\n  - /b c":                                 `3: topics: "/b c": ' ' at 2 is not valid, a-z, A-Z, 0-9, / and _ are`,
	"topics:\n  - /a\n  - 9lives":                               `3: topics: "9lives": '9' is not valid as the first character, a-z, A-Z, / and ~ are`,
	"topics:\n  - /camera/.*":                                   `2: topics: "/camera/.*": ".*" is of regular expressions, no name has a dot: want a name, or a glob with *, **, ? and [ab]; any text without a slash is *`,
	"regex: true\ntopics:\n  - /a\n  - '*image'":                `4: topics: "*image": missing argument to repetition operator at "*": want a regular expression (RE2 syntax); any text is .*`,
	"all: true\nexclude:\n  - /a\n  - (image":                   `4: exclude: "(image": missing closing ) at "(image": want a regular expression (RE2 syntax)`,
	"all: true\nexclude: (?!/a)":                                `2: exclude: "(?!/a)": invalid or unsupported Perl syntax at "(?!": want a regular expression (RE2 syntax); to leave topics out use -x`,
	"type: ['sensor_msgs/[Image']":                              `1: type: "sensor_msgs/[Image": the ] of "[Image" is missing: want a name, or a glob with *, **, ? and [ab]`,
	"node: robot-driver":                                        `1: node: "robot-driver": '-' at 5 is not valid, a-z, A-Z, 0-9, / and _ are`,
	"all: true\nmax_rate:\n  /a: 1\n  /cam[1: 5":                `4: max_rate: "/cam[1=5": the ] of "[1" is missing: want a name, or a glob with *, **, ? and [ab]`,
	"all: true\nmax_rate:\n  /a: 1\n  /b: fast":                 `4: max_rate: "/b=fast": want TOPIC=HZ, in a file written as TOPIC: HZ, where HZ is a number`,
	"all: true\nmax_rate:\n  /a: 1\n  /b: 0":                    `4: max_rate: "/b=0": want TOPIC=N with a positive N, of at most 1e9`,
	"all: true\nevery:\n  /cam[9-0]: 5":                         `3: every: "/cam[9-0]=5": "[9-0]" is no range, whose ends are in order, such as [0-9]: want a name, or a glob with *, **, ? and [ab]`,
	"all: true\ncount: /a":                                      `2: count: "/a": want TOPIC=N, in a file written as TOPIC: N, where N is a whole number`,
	"all: true\nnote:\n  - run=7\n  - lunch":                    `4: note: "lunch": write key=value`,
	"all: true\nname_template: run_%Q":                          `2: name_template: "run_%Q": unknown conversion "%Q": want one of %s %A %B %F %H %I %M %S %T %Y %a %b %d %j %m %p %y %z, or %% for a percent sign`,
	"all: true\nname_template: '%Y/run'":                        `2: name_template: "%Y/run": the directory has to be the same for all files: want letters of strftime, {time}, {split} and {host} after the last slash only`,
	"all: true\nname_template: run_{robot}":                     `2: name_template: "run_{robot}": unknown text in braces: want {time}, {split} or {host}`,
	"all: true\noutput_prefix: ~/bags/x":                        `2: output_prefix: "~/bags/x": only a shell knows what ~ is, and only at the start of a word: write the directory in full`,
	"all: true\nupload: ftp://store/bags":                       `2: upload: "ftp://store/bags": want s3://, gs://, azblob:// or file://`,
	"all: true\nupload: s3://bags/{robot}":                      `2: upload: "s3://bags/{robot}": unknown {robot}: only {host} and letters of strftime are known`,
	"all: true\nupload: s3://{host}/bags":                       `2: upload: "s3://{host}/bags": the bucket has to be the same for all bags; {host} can stand after it`,
	"all: true\nupload: s3://bags/%Q":                           `2: upload: "s3://bags/%Q": unknown conversion "%Q"`,
	"all: true\nupload: s3:///bags":                             `2: upload: "s3:///bags": names no bucket: want s3://bucket/name`,
	"all: true\nupload: s3://key:hidden@bucket/bags":            `2: upload: "s3://not-shown@bucket/bags": credentials do not belong in the URL: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or ?anonymous=true for a public bucket`,
	"all: true\nhttp: :80x":                                     `2: http: ":80x": want HOST:PORT, such as 127.0.0.1:8765, or true or false`,
	"all: true\nhttp: 0.0.0.0:8765":                             `2: http: "0.0.0.0:8765": it could be reached by others: set --http-token, --http-token-file or the variable for it, or listen on 127.0.0.1`,
	"all: true\nhttp_token: hidden":                             `2: http_token: the token has 6 characters: give it at least 16, such as from openssl rand -hex 16`,
	"all: true\nhttp_token_file: /none/token":                   `2: http_token_file: "/none/token": no such file or directory: want a file with the token, which this user may read`,
	"all: true\nhttp_host: http://robot7":                       `2: http_host: "http://robot7": want a name alone, such as robot7.local, without http:// and without a port`,
	"all: true\nhttp_origin: https://viewer.example.org/":       `2: http_origin: "https://viewer.example.org/": want the start of a page's address, with http:// or https:// and without a path, such as https://viewer.example.org or http://10.0.0.5:8080`,
	"all: true\nros_master_uri: robot7:11311":                   `2: ros_master_uri: "robot7:11311": want http://HOST:PORT: http:// is missing: write http://robot7:11311`,
	"all: true\nros_master_uri: http://robot7":                  `2: ros_master_uri: "http://robot7": want http://HOST:PORT: write http://robot7:11311`,
	"all: true\nros_ip: 10.0.0.300":                             `2: ros_ip: "10.0.0.300": not an IPv4 address: want the name of this machine, such as robot7, or its address, such as 10.0.0.5`,
	"all: true\nros_hostname: http://robot7/":                   `2: ros_hostname: "http://robot7/": it is a URI: want the name of this machine, such as robot7, or its address, such as 10.0.0.5`,
	"all: true\nros_namespace: robot 7":                         `2: ros_namespace: "robot 7": ' ' at 6 is not valid, a-z, A-Z, 0-9, / and _ are`,
	"all: true\nbind: robot7":                                   `2: bind: "robot7": want an IP address such as 10.0.0.5 or 0.0.0.0`,
	"all: true\nembedded_master: 127.0.0.1:99999":               `2: embedded_master: "127.0.0.1:99999": want HOST:PORT, such as 127.0.0.1:11311, or true or false`,
	"all: true\nmark_on:\n  - topic == \"/a\"\n  - 'topic == '": `4: mark_on: "topic == ": want an expression as of gobag filter: at 1:9: incomplete`,
	"all: true\nmark_on: m.level > 2":                           `2: mark_on: "m.level > 2": the expression names no topic: begin with topic == "/NAME" && …, or topic in ["/A", "/B"] && …`,
	"all: true\nsnapshot: true\nsnapshot_bytes: 200M":           `3: snapshot_bytes: "200M": does not fit into three quarters of --buffsize 256: want at most 192M, or a larger --buffsize`,
}

func TestWrongValues(t *testing.T) {
	t.Parallel()
	if len(wrongValues) < 40 {
		t.Errorf("%d wrong values", len(wrongValues))
	}
	described.CheckWrongValues(t, wrongValues)
}

// TestUploadTemplates accepts what --upload documents, here in a directory, which every build can upload to.
func TestUploadTemplates(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"file:///bags/{host}", "file:///bags/%Y/%m-%d", "file:///bags/{host}/%F?create_dir=true", "file:///bags/a%20b"} {
		if err := checkUpload(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestUploadsAreCheckedAsAtTheStart: what opening the store refuses, --check-config refuses, too.
func TestUploadsAreCheckedAsAtTheStart(t *testing.T) {
	for _, name := range []string{"AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	for url, want := range map[string]string{
		"":                       "",
		"s3://b/p?region=x":      "",
		"file:///nowhere":        "", // it may be mounted later
		"s3://b/p?endpont=x":     `--upload: s3://b/p: unknown query parameter "endpont": check the spelling of the query parameters of the URL`,
		"file:///tmp?creat_dir=": `--upload: file:///tmp: unknown query parameter "creat_dir": check the spelling of the query parameters of the URL`,
	} {
		got := ""
		if err := (&uploadSettings{to: url}).check(zap.NewNop()); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
	}
}
