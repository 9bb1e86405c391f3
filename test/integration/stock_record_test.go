package integration_test

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/bagfmt"
	"github.com/gorosbag/gorosbag/tcpros"
	"github.com/gorosbag/gorosbag/test/bagdiff"
)

// The tests of the files stock_record_*_test.go hold gorecord against rosbag record,
// each on the same graph and at the same time. Their tables have one row for each
// command line; a number in a name is that of the behavior of rosbag that it checks.
// Where stock is not installed, ours alone is checked.

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
	p        *process
	files    []string
	topics   map[string]*bagdiff.Topic // of all files together
}

// stockGraph is what the rows share: a master and two nodes that talk all the time.
// One offers /chatter, the latched /latched, and /big with messages of 20 kB, the
// other /chatter, /latched and /ns/num. The node /listener hears /chatter and /ns/num.
func stockGraph(t *testing.T) *graph {
	t.Helper()
	kind := "roscore"
	if rosMissing() {
		kind = "gomaster"
	}
	g := newGraph(t, kind)
	g.talk("one", "/chatter", "/latched", "/big")
	g.talk("two", "/chatter", "/latched", "/ns/num")
	g.record("/chatter", "/ns/num", "-O", "listener", "__name:=listener")
	return g
}

// talk publishes numbered strings fifty times a second; on /latched one, latched.
func (g *graph) talk(name string, topics ...string) {
	g.t.Helper()
	n := g.node(name)
	var sources []*tcpros.Source
	var pads []string
	for _, topic := range topics {
		latching := topic == "/latched"
		s := g.advertise(n, topic, latching).Source(latching)
		if latching {
			s.Publish(stringFrame(name))
			continue
		}
		pad := ""
		if topic == "/big" {
			pad = strings.Repeat("x", 20_000)
		}
		sources, pads = append(sources, s), append(pads, pad)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
			for k, s := range sources {
				s.Publish(stringFrame(fmt.Sprint(name, i, pads[k])))
			}
		}
	}()
	g.t.Cleanup(func() {
		cancel()
		<-done
	})
}

// advertise offers a topic of type std_msgs/String.
func (g *graph) advertise(n *tcpros.Node, topic string, latching bool) *tcpros.Publication {
	g.t.Helper()
	p, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: topic, Type: "std_msgs/String", MD5Sum: stringMD5, MessageDefinition: "string data\n", Latching: latching,
	})
	if err != nil {
		g.t.Fatal(err)
	}
	return p
}

const stringMD5 = "992ce8a1687cec8c8bd883ec73ca41d1"

// stringFrame is a message of type std_msgs/String on the wire.
func stringFrame(text string) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(4+len(text)))
	return append(binary.LittleEndian.AppendUint32(b, uint32(len(text))), text...)
}

// TestStockRecord goes through all tables.
func TestStockRecord(t *testing.T) {
	t.Parallel()
	if rosMissing() && os.Getenv("GOROSBAG_REQUIRE_ROS") != "" {
		needROS(t)
	}
	g := stockGraph(t)
	t.Run("rows", func(t *testing.T) {
		for i, row := range stockRows() {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				row.run(t, g, fmt.Sprint("row", i))
			})
		}
	})
}

func stockRows() []recordRow {
	return slices.Concat(usageRows(), nameRows(), selectRows(), endRows(), formatRows())
}

// in returns the graph for a test of its own, with a directory of its own.
func (g *graph) in(t *testing.T, dir string) *graph {
	t.Helper()
	sub := &graph{t: t, kind: g.kind, port: g.port, dir: filepath.Join(g.dir, dir)}
	if err := os.MkdirAll(sub.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return sub
}

// run runs a row with both recorders.
func (row *recordRow) run(t *testing.T, g *graph, dir string) {
	outcomes := []*outcome{row.start(t, g, dir, "ours")}
	if !rosMissing() {
		outcomes = append(outcomes, row.start(t, g, dir, "stock"))
	}
	for _, o := range outcomes {
		if !row.apart {
			o.talkers = map[string][]string{"chatter": {"one", "two"}, "latched": {"one", "two"}, "big": {"one"}, "num": {"two"}, "~num": {"two"}}
		}
		if !row.ends {
			eventually(t, o.who+" has recorded "+o.want.topics, o.recorded)
		}
	}
	for _, o := range outcomes {
		if row.ends {
			continue
		}
		if left := o.names(".bag.active"); len(left) != 1 && o.want.files != "" {
			t.Errorf("%s: while recording there is %v", o.who, left)
		}
		o.p.signal(cmp.Or(row.signal, syscall.SIGINT))
	}
	for _, o := range outcomes {
		o.finish(t, row)
	}
	compareOutcomes(t, row, outcomes)
}

// start starts one of the recorders in a directory of its own.
func (row *recordRow) start(t *testing.T, g *graph, dir, who string) *outcome {
	t.Helper()
	g = g.in(t, filepath.Join(dir, who))
	o := &outcome{who: who, dir: g.dir, want: row.ours, until: row.until}
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
	cmd := g.command(program, args...)
	cmd.Env = append(cmd.Env, "GORECORD_FLUSH_INTERVAL=50ms") // the row waits for what it sees in the file
	if row.env != "" {
		cmd.Env = append(cmd.Env, row.env)
	}
	o.p = g.launch(who, cmd)
	return o
}

// names returns the files that end with suffix.
func (o *outcome) names(suffix string) []string {
	all, _ := filepath.Glob(filepath.Join(o.dir, "*"+suffix))
	for i, path := range all {
		all[i] = filepath.Base(path)
	}
	return all
}

// recorded reports whether every topic that should be is in the files.
func (o *outcome) recorded() bool {
	select {
	case <-o.p.exited:
		return true // too early: the exit code or the files will say so
	default:
	}
	if len(o.names(".bag.active")) == 0 || o.until != "" && size(&graph{dir: o.dir}, o.until) < 0 {
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

// soFar returns the messages of each topic in the files, of which the last may be
// being written.
func (o *outcome) soFar() map[string][]string {
	topics := map[string][]string{}
	for _, name := range append(o.names(".bag"), o.names(".bag.active")...) {
		addMessages(topics, filepath.Join(o.dir, name)) // an error: it has its final name by now, or no header yet
	}
	return topics
}

func addMessages(topics map[string][]string, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := bagfmt.NewReader(f, st.Size(), bagfmt.ReaderOptions{})
	if err != nil {
		return err
	}
	for m, err := range r.All(bagfmt.Query{}) {
		if err != nil {
			return err
		}
		topics[m.Conn.Topic] = append(topics[m.Conn.Topic], string(m.Data()))
	}
	return nil
}

var dates = regexp.MustCompile(`\d{4}(-\d\d){5}`)

// finish waits for the end and checks it.
func (o *outcome) finish(t *testing.T, row *recordRow) {
	t.Helper()
	code := o.p.wait()
	if o.who == "stock" && row.wrapper && row.stock == nil {
		o.want.code = 0 // whatever its child returned
	}
	aborts := o.who == "stock" && o.want.code == 1 && code == killed // now and then on its way out
	if code != o.want.code && !aborts {
		t.Errorf("%s: exit code %d, want %d", o.who, code, o.want.code)
	}
	if o.want.code != killed {
		if left := o.names(".active"); len(left) > 0 {
			t.Errorf("%s left %v", o.who, left)
		}
	}
	o.topics = map[string]*bagdiff.Topic{}
	for _, name := range o.names(".bag") {
		o.files = append(o.files, dates.ReplaceAllString(name, "DATE"))
		for name, topic := range read(t, filepath.Join(o.dir, name)) {
			if o.topics[name] == nil {
				o.topics[name] = &bagdiff.Topic{}
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
	if !strings.Contains(o.p.out.String(), o.want.says) {
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
			if _, err := common(was, is); err != nil {
				t.Errorf("%s of %s: %v", topic, caller, err)
			}
		}
	}
}

// headers returns the connection headers by callerid.
func headers(topic *bagdiff.Topic) map[string]string {
	all := map[string]string{}
	for _, h := range topic.Headers {
		all[h.CallerID()] = fmt.Sprint(h)
	}
	return all
}

func payloads(topic *bagdiff.Topic, caller string) []string {
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
	needROS(t)
	g := &graph{t: t, port: freePort(t), dir: t.TempDir()}
	option := regexp.MustCompile(`(?m)^ +(?:-(\w)\b.*?)?(--[a-z0-9-]+)`)
	tried := map[bool]string{}
	for _, row := range stockRows() {
		tried[row.wrapper] += " " + row.args
	}
	for program, args := range map[string][]string{"/usr/lib/rosbag/record": {"--help"}, "rosbag": {"record", "--help"}} {
		found := option.FindAllStringSubmatch(g.run(program, args...), -1)
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
	ours := g.run("gorecord", "--help")
	for _, o := range option.FindAllStringSubmatch(g.run("/usr/lib/rosbag/record", "--help"), -1) {
		if !strings.Contains(ours, o[2]) {
			t.Errorf("gorecord has no %s", o[2])
		}
	}
}
