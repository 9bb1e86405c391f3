package record_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
)

// mistakes are command lines with something wrong, the exit code that scripts rely on, and
// all that people read.
var mistakes = []struct {
	command string
	code    int
	want    string
}{
	{"gorecord", 1, "gorecord: No topics specified. Name topics, or use -a for all"},
	{"gorecord -a -O exists", 1, "gorecord: exists.bag exists: a recording never overwrites; choose another name or move it away"},
	{"gorecord -a -O none/x", 1, "gorecord: cannot open none/x.bag.active: directory none/ does not exist: create it first"},
	{"gorecord -a -e (", 1, `gorecord: topic: "(": missing closing ) at "(": want a regular expression (RE2 syntax)`},
	{"gorecord -a -x (", 1, `gorecord: --exclude: "(": missing closing ) at "(": want a regular expression (RE2 syntax)`},
	{"gorecord -a --splt", 1, "gorecord: unrecognised option '--splt': did you mean --split?"},
	{"gorecord -a --compres", 1, "gorecord: unrecognised option '--compres': did you mean --bz2 or --lz4?"},
	{"gorecord -a --compression=lz4", 1, "gorecord: unrecognised option '--compression': did you mean --bz2 or --lz4?"},
	{"gorecord -a --zzzzzzzzzz", 1, "gorecord: unrecognised option '--zzzzzzzzzz': see --help"},
	{"gorecord -a -Z", 1, "gorecord: unrecognised option '-Z' in '-Z': see --help"},
	{"gorecord -a --s", 1, "gorecord: option '--s' is ambiguous: it could be --size, --snapshot, --snapshot-beside, --snapshot-bytes, --snapshot-on, --split, --split-at, --start-on, --stop-on, --stopped, --summary, --sync"},
	{"gorecord -a --chunksize x", 1, `gorecord: --chunksize: "x": want a whole number of KiB`},
	{"gorecord -a --chunksize -1", 1, "gorecord: --chunksize: \"-1\": Chunk size must be 0 or positive: a number of KiB, 768 by default"},
	{"gorecord -a -b -1", 1, "gorecord: --buffsize: \"-1\": Buffer size must be 0 or positive: a number of MiB, 256 by default; 0 is no limit"},
	{"gorecord -a -b x", 1, `gorecord: --buffsize: "x": want a whole number of MiB`},
	{"gorecord -a -b 2000000000", 1, "gorecord: --buffsize: \"2000000000\": Buffer size must be at most 1073741824 MiB"},
	{"gorecord -a --size 0", 1, "gorecord: --size: \"0\": Split size must be positive: give a number of MiB, such as 1024"},
	{"gorecord -a --size x", 1, `gorecord: --size: "x": want a whole number of MiB`},
	{"gorecord -a --split -5", 1, "gorecord: unrecognised option '-5' in '-5': see --help"},
	{"gorecord -a --split --max-splits -1", 1, "gorecord: --max-splits: \"-1\": Number of splits must be 0 or positive: 0 keeps all files"},
	{"gorecord -a --duration 5x", 1, `gorecord: --duration: "5x": Duration unit must be s, m, or h`},
	{"gorecord -a --duration x", 1, `gorecord: --duration: "x": Duration must start with a floating point number`},
	{"gorecord -a --duration 0", 1, `gorecord: --duration: "0": Duration must be positive`},
	{"gorecord -a -l 3", 1, "gorecord: Specifying a count is not valid with automatic topic subscription. Name the topics, or leave --limit out"},
	{"gorecord /a -l -1", 1, "gorecord: --limit: \"-1\": Limit must be 0 or positive: a number of messages for each topic; 0 is no limit"},
	{"gorecord -a -j --lz4", 1, "gorecord: Can only use one type of compression: leave out --bz2 or --lz4"},
	{"gorecord -a -o a -O b", 1, "gorecord: Can't set both prefix and name. Leave out --output-prefix or --output-name"},
	{"gorecord -a -O ~/x", 1, "gorecord: --output-name: \"~/x\": only a shell knows what ~ is, and only at the start of a word: write the directory in full"},
	{"gorecord -a -O none/", 1, `gorecord: --output-name: "none/": want a name after the last slash; --output-prefix takes a directory, and adds the date`},
	{"gorecord -a --min-space 1T", 1, `gorecord: --min-space: "1T": want a number of bytes, or one with K, M or G`},
	{"gorecord -a --sync sometimes", 1, `gorecord: --sync: "sometimes": want one of none, interval, chunk`},
	{"gorecord -a --overflow wait", 1, `gorecord: --overflow: "wait": want one of drop, block`},
	{"gorecord -a --adaptive", 1, "gorecord: --adaptive: steps down from --bz2 or --lz4: give one of them"},
	{"gorecord -a --paused --stopped", 1, "gorecord: a recording begins in one way: leave out --paused or --stopped"},
	{"gorecord -a --max-age 1h", 1, "gorecord: --max-bytes, --max-age and --keep-free delete closed files: they need --split, --stopped or --start-on"},
	{"gorecord -a --max-rate /imu=0", 1, "gorecord: --max-rate: \"/imu=0\": want TOPIC=N with a positive N, of at most 1e9"},
	{"gorecord -a --max-rate /imu", 1, `gorecord: --max-rate: "/imu": want TOPIC=HZ, in a file written as TOPIC: HZ, where HZ is a number`},
	{"gorecord -a --name-template %Q --split --size 1", 1, `gorecord: --name-template: "%Q": unknown conversion "%Q": want one of %s %A %B %F %H %I %M %S %T %Y %a %b %d %j %m %p %y %z, or %% for a percent sign`},
	{"gorecord -a --split-at 10ms", 1, `gorecord: --split-at: "10ms": Duration unit must be s, m, or h`},
	{"gorecord -a --snapshot --split", 1, "gorecord: --snapshot writes no bag that --split, --size or --limit could end: use --snapshot-beside"},
	{"gorecord -a --pre-roll 5s", 1, "gorecord: --pre-roll, --post-roll and --snapshot-bytes need --snapshot or --snapshot-beside"},
	{"gorecord -a --snapshot-on true", 1, `gorecord: --snapshot-on: "true": the expression names no topic: begin with topic == "/NAME" && …, or topic in ["/A", "/B"] && …`},
	{"gorecord -a --log-format xml", 1, `gorecord: --log-format: "xml": want one of text, json`},
	{"gorecord -a --bind nohost", 1, `gorecord: --bind: "nohost": want an IP address such as 10.0.0.5 or 0.0.0.0`},
	{"gorecord -a --http 0.0.0.0:0", 1, "gorecord: --http: \"0.0.0.0:0\": it could be reached by others: set --http-token, --http-token-file or the variable for it, or listen on 127.0.0.1"},
	{"gorecord -a --upload /mnt/nas", 1, `gorecord: --upload: "/mnt/nas": not a URL: write file:///mnt/nas for this directory`},
	{"gorecord -a --upload nowhere", 1, `gorecord: --upload: "nowhere": not a URL: want s3://BUCKET/PREFIX, gs://, azblob:// or file:///DIR`},
	{"gorecord -a --config none.yaml", 1, "gorecord: --config: \"none.yaml\": no such file or directory: name a YAML file that can be read"},
	{"gorecord -a --config typo.yaml", 1, "gorecord: typo.yaml:2: rat: there is no such option; the keys are the long options of --help, with _ for -\n" +
		"gorecord: typo.yaml:3: buffsize: \"x\": want a whole number of MiB"},
	{"gorecord -a --config typo.yaml --check-config", 1, "gorecord: typo.yaml:2: rat: there is no such option; the keys are the long options of --help, with _ for -\n" +
		"gorecord: typo.yaml:3: buffsize: \"x\": want a whole number of MiB"},
	{"gorecord -a --check-config", 0, "ok"},
	{"gorecord -a --check-config --upload file:///nowhere", 0, "ok"}, // it may be mounted later
	{"gorecord -a --check-config --upload s3://b/p?endpont=x", 1, `gorecord: --upload: s3://b/p: unknown query parameter "endpont": check the spelling of the query parameters of the URL`},
	{"gorecord -a --check-config --upload file:///dev/null", 1, "gorecord: --upload: file:///dev/null: /dev/null is a file: want a directory"},
	{"gorecord -a --check-config __master:=foo", 1, `gorecord: __master:= "foo": want http://HOST:PORT: write http://foo:11311`},
	{"gorecord -a -O exists --check-config", 1, "gorecord: exists.bag exists: a recording never overwrites; choose another name or move it away"},
	{"gorecord -a -o nowhere/x --check-config -O nowhere/run", 1, "gorecord: Can't set both prefix and name. Leave out --output-prefix or --output-name"},
	{`gorecord /b --check-config --mark-on topic=="/a"`, 1, "gorecord: a topic that a trigger watches is not recorded: /a"},
	{`gorecord preflight /b --mark-on topic=="/a"`, 1, "gorecord: a topic that a trigger watches is not recorded: /a"},
	{`gorecord /b --check-config --mark-on topic=="a" b:=a`, 0, "ok"},
	{"goplay missing.bag --check-config", 1, "goplay: Error opening file: missing.bag: no such file"},
	{"goplay good.bag --check-config", 0, "ok"},
	{"goplay s3://bucket/x.bag --check-config", 0, "ok"},
	{"goplay good.bag --start mark=lunch --check-config", 1, "goplay: --start: there are no marks in the bag"},
	{"goplay good.bag --deny /odom --check-config", 1, "goplay: not to be played: /odom. Leave them out with -x: --deny forbids them"},
	{"goplay good.bag --check-config --topics /velodyne", 1, "goplay: --topics /velodyne: nothing in the bags fits; gobag info lists what is in them"},
	{"gorecord 9lives", 1, `gorecord: topic: "9lives": '9' is not valid as the first character, a-z, A-Z, / and ~ are`},
	{"gorecord -a --node 9lives", 1, `gorecord: --node: "9lives": '9' is not valid as the first character, a-z, A-Z, / and ~ are`},
	{"gorecord -a __master:=foo", 1, `gorecord: __master:= "foo": want http://HOST:PORT: write http://foo:11311`},
	{"gorecord -a __master:=127.0.0.1:11311", 1, `gorecord: __master:= "127.0.0.1:11311": want http://HOST:PORT: http:// is missing: write http://127.0.0.1:11311`},
	{"gorecord -a __master:=https://robot:11311", 1, `gorecord: __master:= "https://robot:11311": want http://HOST:PORT, not https://: write http://robot:11311`},
	{"gorecord -a --note nothing", 1, `gorecord: --note: "nothing": write key=value`},
	{"gorecord -O", 1, "gorecord: the required argument for option '-O' is missing"},
	{"goplay", 1, "goplay: You must specify at least one bag to play back. Name its file, such as goplay x.bag"},
	{"goplay missing.bag", 1, "goplay: Error opening file: missing.bag: no such file"},
	{"goplay dir.bag", 1, "goplay: dir.bag: no bags in this directory"},
	{"goplay text.bag", 1, `goplay: Error opening file: text.bag: not a bag: it is text that starts with "this is not a bag"; a bag starts with #ROSBAG V2.0`},
	{"goplay empty.bag", 1, "goplay: Error opening file: empty.bag: not a bag: empty file"},
	{"goplay v13.bag", 1, "goplay: Error opening file: v13.bag: is a bag version 1.3, which was never released; this reader knows 0, 1.0, 1.1, 1.2 and 2.0"},
	{"goplay x.mcap", 1, "goplay: Error opening file: x.mcap: is a file of MCAP version \"1\"; this reader knows version 0"},
	{"goplay x.bag.gz", 1, "goplay: Error opening file: x.bag.gz: not a bag: it is packed with gzip; unpack it with gunzip"},
	{"goplay lfs.bag", 1, "goplay: Error opening file: lfs.bag: not a bag: it is a git LFS pointer; fetch the bag itself with git lfs pull"},
	{"goplay ros2.db3", 1, "goplay: Error opening file: ros2.db3: not a database of SQLite"},
	{"goplay page.bag", 1, "goplay: Error opening file: page.bag: not a bag: it is an HTML page, perhaps an error page or a login page of a server; download the bag again"},
	{"goplay good.bag --rate 0", 1, "goplay: --rate: \"0\": want a factor from 1e-06 to 1e+09, such as 0.5 or 2"},
	{"goplay good.bag --rate x", 1, `goplay: --rate: "x": want a number`},
	{"goplay good.bag --rat 2", 1, "goplay: option '--rat' is ambiguous: it could be --rate, --rate-control-max-delay, --rate-control-topic"},
	{"goplay good.bag --topcs /imu", 1, "goplay: unrecognised option '--topcs': did you mean --topics?"},
	{"goplay --topics /nope good.bag", 1, "goplay: When using --topics, --bags should be specified to list bags. --topics takes every word up to the next option"},
	{"goplay good.bag --start x", 1, `goplay: --start: "x": not a time: write seconds or 1m30s from the beginning of the bag, -10s before its end, @1396293889.5 since 1970, 2014-03-31T19:11:29Z, or mark=TEXT`},
	{"goplay good.bag -u 0", 1, "goplay: --duration: \"0\": Invalid duration, must be > 0.0"},
	{"goplay good.bag --start mark=lunch", 1, "goplay: --start: there are no marks in the bag"},
	{"goplay good.bag --until -9999", 1, "goplay: --until is 2h46m29.0078s before the earliest message of the bags: there is nothing to play"},
	{"goplay good.bag --dry-run --topics /imuu", 1, "No messages to play on specified topics.  Exiting.\ngoplay: --topics /imuu: nothing in the bags fits: did you mean /imu/data?"},
	{"goplay good.bag --dry-run --topics /velodyne", 1, "No messages to play on specified topics.  Exiting.\ngoplay: --topics /velodyne: nothing in the bags fits; gobag info lists what is in them"},
	{"goplay good.bag --dry-run --type sensor_msgs/Imux", 1, "No messages to play on specified topics.  Exiting.\ngoplay: --type sensor_msgs/Imux: nothing in the bags fits; gobag info lists what is in them"},
	{"goplay good.bag --dry-run --rename /a", 1, `goplay: --rename: "/a": want FROM=TO, such as /a=/b`},
	{"goplay good.bag __master:=robot", 1, `goplay: __master:= "robot": want http://HOST:PORT: write http://robot:11311`},
	{"gobag inf good.bag", 1, `gobag: unexpected argument inf, did you mean one of "info", "diff", "find"?; see gobag --help`},
	{"gobag play good.bag", 1, "gobag: play: goplay does that: write goplay good.bag"},
	{"gorecord record -a", 1, "gorecord: record: gorecord needs no such word: write gorecord -a; a topic of that name is /record"},
	{"goplay play good.bag", 1, "goplay: play: goplay needs no such word: write goplay good.bag"},
	{"gomaster record", 1, "gomaster: record: gorecord does that: write gorecord"},
	{"gobag filter -s 5 -e 10 good.bag out.bag", 1, "gobag: 10: no such file; -e reads patterns as regular expressions, as in rosbag record: for the end write --until 10"},
	{"goplay -s 1748682000 good.bag", 1, `goplay: --start: "1748682000": a number counts seconds from the beginning of the bag: write @1748682000 for a time since 1970`},
	{"gobag info text.bag", 1, `gobag: text.bag: not a bag: it is text that starts with "this is not a bag"; a bag starts with #ROSBAG V2.0`},
	{"gobag info empty.bag", 1, "gobag: empty.bag: not a bag: empty file"},
	{"gobag info missing.bag", 1, "gobag: missing.bag: no such file"},
	{"gobag info dir.bag", 1, "gobag: dir.bag: no bags in this directory"},
	{"gobag info x.mcap", 1, "gobag: x.mcap: is a file of MCAP version \"1\"; this reader knows version 0"},
	{"gobag info lfs.bag", 1, "gobag: lfs.bag: not a bag: it is a git LFS pointer; fetch the bag itself with git lfs pull"},
	{"gobag info v13.bag", 1, "gobag: v13.bag: is a bag version 1.3, which was never released; this reader knows 0, 1.0, 1.1, 1.2 and 2.0"},
	{"gobag", 1, `gobag: expected one of "info", "view", "gaps", "echo", "reindex", ...; see gobag --help`},
	{"gobag info", 1, `gobag: expected "<bag> ..."; see gobag info --help`},
	{"gobag info --jsn good.bag", 1, `gobag: unknown flag --jsn, did you mean one of "--man", "--json"?; see gobag info --help`},
	{"gobag echo good.bag --topic /imuu", 1, "gobag: /imuu: no such topic; did you mean /imu/data?"},
	{"gobag split good.bag", 1, "gobag: say where to split: --size, --duration or both, or --topic"},
	{"gobag check s3://", 1, "gobag: s3://: names no bucket: want s3://bucket/name"},
	{"gomaster -p 99999", 1, "gomaster: port 99999 is out of range (0 to 65535)"},
	{"gomaster -p x", 1, `gomaster: --port: expected a valid 64 bit int but got "x"`},
	{"gomaster --log-level loud", 1, `gomaster: --log-level must be one of "debug","info","warn","error" but got "loud"`},
	{"gomaster --lisen 127.0.0.1", 1, `gomaster: unknown flag --lisen, did you mean "--listen"?`},
	{"gomaster start", 1, "gomaster: unexpected argument start: the only one is healthcheck; options begin with a dash"},
	{"gomaster __hostname:=http://me", 1, `gomaster: host "http://me" must be a name or an IP address (see ROS_HOSTNAME and ROS_IP)`},
}

// around matches the lines around the text: of the log, and of stock.
var around = regexp.MustCompile(`(?m)^(\d{4}-\d\d-\d\d |Opening ).*\n`)

// TestMistakes checks the whole text of each mistake: one clear line that names what is wrong
// and, where that is known, what to write instead.
func TestMistakes(t *testing.T) {
	t.Parallel()
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()} // nothing gets as far as a master
	demo, err := os.ReadFile(bags.Demo(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"good.bag": string(demo), "text.bag": "this is not a bag\n", "empty.bag": "", "v13.bag": "#ROSBAG V1.3\n", "exists.bag": "precious",
		"x.mcap": "\x89MCAP1\r\n", "x.bag.gz": "\x1f\x8b\b\x00", "lfs.bag": "version https://git-lfs.github.com/spec/v1\n",
		"ros2.db3": "SQLite format 3\x00", "page.bag": "<!DOCTYPE html>\n", "typo.yaml": "topics: [/a]\nrat: 2\nbuffsize: x\n",
	} {
		if err := os.WriteFile(filepath.Join(g.Dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(g.Dir, "dir.bag"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range mistakes {
		t.Run(tc.command, func(t *testing.T) {
			t.Parallel()
			g := &harness.Graph{T: t, Port: g.Port, Dir: g.Dir}
			words := strings.Fields(tc.command)
			p := g.Start(words[0], words[1:]...)
			code := p.Wait()
			if got := strings.TrimSuffix(around.ReplaceAllString(p.Out.String(), ""), "\n"); got != tc.want || code != tc.code {
				t.Errorf("exit code %d, want %d:\n%s\nwant\n%s", code, tc.code, got, tc.want)
			}
		})
	}
	t.Cleanup(func() {
		if b, err := os.ReadFile(filepath.Join(g.Dir, "exists.bag")); err != nil || string(b) != "precious" {
			t.Error("exists.bag was changed")
		}
		left, err := filepath.Glob(filepath.Join(g.Dir, "*.active"))
		if err != nil || len(left) > 0 {
			t.Errorf("left behind: %v", left)
		}
	})
}
