package stock_test

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
)

// The tests of the files stock_record_*_test.go hold gorecord against rosbag record,
// each on the same graph and at the same time. Their tables have one row for each
// command line; a number in a name is that of the behavior of rosbag that it checks.
// Ours alone is checked where stock is not installed. All rows but the first of each table are long.

// want is how a recorder ends and what it leaves.
type want struct {
	code   int    // exit code, or killed
	files  string // names of the bags; DATE stands for the date; or anything
	topics string // which of the topics of stockGraph are in the bags; or anything
	says   string // part of what it prints
}

const (
	killed   = -1 // the exit code of a process that a signal has ended, such as that of abort
	anything = "anything"
)

// recordRow is a command line that both understand.
type recordRow struct {
	name    string
	args    string         // {who} stands for ours or stock, '' for an empty word, ␣ for a blank in a word
	env     string         // NAME=value
	wrapper bool           // stock is run as rosbag record instead of by its binary
	ends    bool           // by itself; otherwise it gets signal when all topics are recorded
	until   string         // and this file exists
	signal  syscall.Signal // zero means SIGINT
	apart   bool           // what the two record is not compared
	first   bool           // of its table
	ours    want
	stock   *want // where it differs on purpose; nil: as ours
	check   func(t *testing.T, o *outcome)
}

// outcome is one recorder's part of a row.
type outcome struct {
	who, dir string
	want     want
	until    string
	talkers  map[string][]string // who must be heard on a topic of that last part; otherwise messages are counted
	p        *harness.Process
	files    []string
	topics   map[string]*bags.Topic // of all files together
}

// stockGraph is what the rows share: a master and two nodes that talk all the time.
// One offers /chatter, the latched /latched, and /big with messages of 20 kB, the
// other /chatter, /latched and /ns/num. The node /listener hears /chatter and /ns/num.
func stockGraph(t *testing.T) *harness.Graph {
	t.Helper()
	kind := "roscore"
	if harness.ROSMissing() {
		kind = "gomaster"
	}
	g := harness.NewGraph(t, kind)
	peers.Talk(g, "one", "/chatter", "/latched", "/big")
	peers.Talk(g, "two", "/chatter", "/latched", "/ns/num")
	g.Record("/chatter", "/ns/num", "-O", "listener", "__name:=listener")
	return g
}

// TestStockRecord goes through all tables.
func TestStockRecord(t *testing.T) {
	t.Parallel()
	if harness.ROSMissing() && os.Getenv("GOROSBAG_REQUIRE_ROS") != "" {
		harness.NeedROS(t)
	}
	g := stockGraph(t)
	t.Run("rows", func(t *testing.T) {
		for i, row := range stockRows() {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				harness.LongCase(t, !row.first, "runs both recorders; stock takes most of the time")
				row.run(t, g, fmt.Sprint("row", i))
			})
		}
	})
}

func stockRows() []recordRow {
	tables := [][]recordRow{usageRows(), nameRows(), selectRows(), endRows(), formatRows()}
	for _, table := range tables {
		table[0].first = true
	}
	return slices.Concat(tables...)
}

// run runs a row with both recorders.
func (row *recordRow) run(t *testing.T, g *harness.Graph, dir string) {
	outcomes := []*outcome{row.start(t, g, dir, "ours")}
	if !harness.ROSMissing() {
		outcomes = append(outcomes, row.start(t, g, dir, "stock"))
	}
	for _, o := range outcomes {
		if !row.apart {
			o.talkers = map[string][]string{"chatter": {"one", "two"}, "latched": {"one", "two"}, "big": {"one"}, "num": {"two"}, "~num": {"two"}}
		}
		if !row.ends {
			harness.Eventually(t, o.who+" has recorded "+o.want.topics, o.recorded)
		}
	}
	if len(outcomes) == 2 && !row.ends && !row.apart {
		var lacks string
		harness.Eventually(t, "both have recorded the same of each talker", func() bool {
			lacks = outcomes[0].lacks(outcomes[1])
			return lacks == ""
		}, func() string { return lacks })
	}
	for _, o := range outcomes {
		if row.ends {
			continue
		}
		if o.want.files != "" {
			var left []string
			harness.Eventually(t, o.who+" records to one file", func() bool { // at a split, the one before may be being closed
				left = o.names(".bag.active")
				return len(left) == 1
			}, func() string { return strings.Join(left, " ") })
		}
		o.p.Signal(cmp.Or(row.signal, syscall.SIGINT))
	}
	for _, o := range outcomes {
		o.finish(t, row)
	}
	compareOutcomes(t, row, outcomes)
}

// start starts one of the recorders in a directory of its own.
func (row *recordRow) start(t *testing.T, g *harness.Graph, dir, who string) *outcome {
	t.Helper()
	g = g.In(t, filepath.Join(dir, who))
	o := &outcome{who: who, dir: g.Dir, want: row.ours, until: row.until}
	args := strings.Fields(row.args)
	for i := range args {
		args[i] = strings.NewReplacer("''", "", "␣", " ", "{who}", who).Replace(args[i])
	}
	program := "gorecord"
	if who == "stock" {
		program = "/usr/lib/rosbag/record"
		if row.stock != nil {
			o.want = *row.stock
		}
		if row.wrapper {
			program = "rosbag"
			args = append([]string{"record"}, args...)
		}
	}
	cmd := g.Command(program, args...)
	cmd.Env = append(cmd.Env, "GORECORD_FLUSH_INTERVAL=50ms") // the row waits for what it sees in the file
	if row.env != "" {
		cmd.Env = append(cmd.Env, row.env)
	}
	o.p = g.Launch(who, cmd)
	return o
}

// names returns the files that end with suffix, the tenth of a recording after the ninth.
func (o *outcome) names(suffix string) []string {
	all, _ := filepath.Glob(filepath.Join(o.dir, "*"+suffix))
	for i, path := range all {
		all[i] = filepath.Base(path)
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Compare(padded(a), padded(b)) })
	return all
}

var numbers = regexp.MustCompile(`\d+`)

// padded makes numbers in a name sort by their values.
func padded(name string) string {
	return numbers.ReplaceAllStringFunc(name, func(n string) string { return strings.Repeat("0", max(0, 20-len(n))) + n })
}

// recorded reports whether every topic that should be is in the files.
func (o *outcome) recorded() bool {
	select {
	case <-o.p.Exited:
		return true // too early: the exit code or the files will say so
	default:
	}
	if len(o.names(".bag.active")) == 0 || o.until != "" && harness.Size(&harness.Graph{Dir: o.dir}, o.until) < 0 {
		return false
	}
	seen := o.soFar()
	for _, topic := range strings.Fields(o.want.topics) {
		least := 5
		if o.who == "stock" {
			least-- // it holds the last one back until the next comes
		}
		if strings.HasSuffix(topic, "latched") {
			least = 1
		}
		if len(seen[topic]) < least {
			return false
		}
		for _, talker := range o.talkers[filepath.Base(topic)] {
			if !slices.ContainsFunc(seen[topic], func(m string) bool { return strings.HasPrefix(m[4:], talker) }) {
				return false
			}
		}
	}
	return true
}

// lacks returns a topic of which two recorders have no message of a talker in common yet, "" if
// there is none.
func (o *outcome) lacks(other *outcome) string {
	for _, one := range []*outcome{o, other} {
		select {
		case <-one.p.Exited:
			return "" // too early: the exit code or the files will say so
		default:
		}
	}
	was, is := o.soFar(), other.soFar()
	for topic, messages := range was {
		for _, talker := range o.talkers[filepath.Base(topic)] {
			of := func(m string) bool { return strings.HasPrefix(m[4:], talker) }
			if slices.ContainsFunc(messages, of) && slices.ContainsFunc(is[topic], of) &&
				!slices.ContainsFunc(messages, func(m string) bool { return of(m) && slices.Contains(is[topic], m) }) {
				return topic + " of " + talker
			}
		}
	}
	return ""
}

// soFar returns the messages of each topic in the files, of which the last may be
// being written.
func (o *outcome) soFar() map[string][]string {
	topics := map[string][]string{}
	for _, name := range append(o.names(".bag"), o.names(".bag.active")...) {
		bags.AddMessages(topics, filepath.Join(o.dir, name)) // an error: it has its final name by now, or no header yet
	}
	return topics
}

var dates = regexp.MustCompile(`\d{4}(-\d\d){5}`)

// finish waits for the end and checks it.
func (o *outcome) finish(t *testing.T, row *recordRow) {
	t.Helper()
	code := o.p.Wait()
	if o.who == "stock" && row.wrapper && row.stock == nil {
		o.want.code = 0 // whatever its child returned
	}
	aborts := o.who == "stock" && o.want.code == 1 && code == killed // now and then on its way out
	if code != o.want.code && !aborts {
		t.Errorf("%s: exit code %d, want %d", o.who, code, o.want.code)
	}
	if o.want.code != killed {
		if o.who == "stock" && row.wrapper { // it does not wait for its child after SIGINT (rosbag_main.py, _send_process_sigint)
			harness.Eventually(t, "stock's recorder closes its bag", func() bool { return len(o.names(".active")) == 0 })
		}
		if left := o.names(".active"); len(left) > 0 {
			t.Errorf("%s left %v", o.who, left)
		}
	}
	o.topics = map[string]*bags.Topic{}
	for _, name := range o.names(".bag") {
		o.files = append(o.files, dates.ReplaceAllString(name, "DATE"))
		for name, topic := range bags.Read(t, filepath.Join(o.dir, name)) {
			if o.topics[name] == nil {
				o.topics[name] = &bags.Topic{}
			}
			o.topics[name].Headers = append(o.topics[name].Headers, topic.Headers...)
			o.topics[name].Messages = append(o.topics[name].Messages, topic.Messages...)
		}
	}
	if got := strings.Join(o.files, " "); got != o.want.files && o.want.files != anything {
		t.Errorf("%s: files %q, want %q", o.who, got, o.want.files)
	}
	if got := strings.Join(o.known(), " "); got != o.want.topics && o.want.topics != anything {
		t.Errorf("%s: topics %q, want %q", o.who, got, o.want.topics)
	}
	if !strings.Contains(o.p.Out.String(), o.want.says) {
		t.Errorf("%s does not say %q", o.who, o.want.says)
	}
	if row.check != nil {
		row.check(t, o)
	}
}

// known returns the topics of the stock graph that were recorded; with -a there are
// those of other rows, too.
func (o *outcome) known() []string {
	var all []string
	for topic := range o.topics {
		if slices.Contains([]string{"chatter", "latched", "big", "num", "~num", "renamed"}, filepath.Base(topic)) {
			all = append(all, topic)
		}
	}
	slices.Sort(all)
	return all
}

// compareOutcomes checks what both have recorded against each other: the headers of
// the connections, and that neither misses a message between the first and the last
// that both have.
func compareOutcomes(t *testing.T, row *recordRow, outcomes []*outcome) {
	t.Helper()
	if len(outcomes) < 2 || row.apart {
		return
	}
	ours, stock := outcomes[0], outcomes[1]
	for _, topic := range stock.known() {
		a, b := stock.topics[topic], ours.topics[topic]
		if b == nil {
			continue // a difference that the row has
		}
		was, is := headers(a), headers(b)
		for caller := range was {
			if d := gocmp.Diff(was[caller], is[caller]); d != "" && is[caller] != "" {
				t.Errorf("%s: connection headers of %s (-stock +ours):\n%s", topic, caller, d)
			}
		}
		if row.ends {
			continue // they need not have been there at the same time
		}
		for _, caller := range []string{"/one", "/two"} {
			was, is := payloads(a, caller), payloads(b, caller)
			if len(was) == 0 && len(is) == 0 {
				continue
			}
			if _, err := common(was, is, len(a.Messages)); err != nil {
				t.Errorf("%s of %s: %v", topic, caller, err)
			}
		}
	}
}

// headers returns the connection headers by callerid.
func headers(topic *bags.Topic) map[string]string {
	all := map[string]string{}
	for _, h := range topic.Headers {
		all[h.CallerID()] = fmt.Sprint(h)
	}
	return all
}

func payloads(topic *bags.Topic, caller string) []string {
	var all []string
	for _, m := range topic.Messages {
		if m.CallerID == caller {
			all = append(all, string(m.Data))
		}
	}
	return all
}

// TestStockOptions: each option of stock's two command lines is tried in some row,
// and exists here.
func TestStockOptions(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := &harness.Graph{T: t, Port: harness.FreePort(t), Dir: t.TempDir()}
	option := regexp.MustCompile(`(?m)^ +(?:-(\w)\b.*?)?(--[a-z0-9-]+)`)
	tried := map[bool]string{}
	for _, row := range stockRows() {
		tried[row.wrapper] += " " + row.args
	}
	for program, args := range map[string][]string{"/usr/lib/rosbag/record": {"--help"}, "rosbag": {"record", "--help"}} {
		found := option.FindAllStringSubmatch(g.Run(program, args...), -1)
		if len(found) < 20 {
			t.Fatalf("%s: options %q", program, found)
		}
		for _, o := range found {
			short, long := o[1], o[2]
			words := strings.Fields(tried[program == "rosbag"])
			if !slices.ContainsFunc(words, func(w string) bool {
				return w == long || strings.HasPrefix(w, long+"=") || short != "" && w[0] == '-' && !strings.HasPrefix(w, "--") && strings.Contains(w, short)
			}) {
				t.Errorf("%s %s is in no row", program, long)
			}
		}
	}
	ours := g.Run("gorecord", "--help")
	for _, o := range option.FindAllStringSubmatch(g.Run("/usr/lib/rosbag/record", "--help"), -1) {
		if !strings.Contains(ours, o[2]) {
			t.Errorf("gorecord has no %s", o[2])
		}
	}
}
