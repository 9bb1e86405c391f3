package bag_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// oldRow is one message of an old definition.
type oldRow struct {
	Topic string `json:"topic"`
	Type  string `json:"type"`
	Text  string `json:"text"`
	Fill  string `json:"fill"` // Python
}

// newRow is what it becomes.
type newRow struct {
	Topic  string `json:"topic"`
	Type   string `json:"type"`
	Values any    `json:"values"`
}

// current are the definitions of the package gen that are installed. Older generations of them are in bags: the scenarios
// are those by which stock tests its migration.
var current = map[string]string{
	"Explicit":   "# the fields have other names\nfloat32 size_m # in meters\nstring label\nint64 count\n",
	"Implicit":   "int32 id\nfloat64 weight\nstring name\nExplicit part\n",
	"Mixed":      "Implicit inner\nint64 last\n",
	"Renamed4":   "float64 foo\nint64[4] bar\n",
	"Simple":     "int32 data\n",
	"Converged":  "float32[4] field1\nSimple[4] field2\n",
	"Hierarchy":  "Mixed[] levels\nSimple top\n",
	"SuperLevel": "Header header\nHierarchy below\nbool ok\n",
	"Constants":  "int32 CONSTANT=7\nint32 value\n",
	"Added":      "Explicit before\nExplicit after\nuint8[] raw\n",
	"Undecided":  "int32 data\n",
}

func part(name, text string) string {
	return "\n" + strings.Repeat("=", 80) + "\nMSG: gen/" + name + "\n" + text
}

// Definitions of earlier generations.
const (
	explicit1 = "int32 count\nfloat32 size\nstring text\n"
	explicit3 = "string label\nfloat32 size_m\nint32 count\n"
	implicit1 = "string name\nint16 id\nfloat32 weight\nExplicit part\n"
	mixed1    = "Implicit inner\nint16 last\n"
)

// generations are messages of each, with what they are now.
func generations() (old []oldRow, now []newRow) {
	add := func(topic, typ, text, fill, newType string, values any) {
		old = append(old, oldRow{topic, "gen/" + typ, text, fill})
		now = append(now, newRow{topic, "gen/" + newType, values})
	}
	type obj = map[string]any
	is := func(size float64, label string, count float64) obj {
		return obj{"size_m": size, "label": label, "count": count}
	}
	// explicit: renamed fields, another order, a wider number
	add("/explicit1", "Explicit", explicit1, "m.count=-5; m.size=1.5; m.text='a'", "Explicit", is(1.5, "a", -5))
	add("/explicit3", "Explicit", explicit3, "m.count=6; m.size_m=2.5; m.label='b'", "Explicit", is(2.5, "b", 6))
	// implicit: what is inside changes
	add("/implicit1", "Implicit", implicit1+part("Explicit", explicit1), "m.name='n'; m.id=-3; m.weight=0.5; m.part=Explicit(4, 1.5, 'in')", "Implicit",
		obj{"id": -3.0, "weight": 0.5, "name": "n", "part": is(1.5, "in", 4)})
	add("/implicit3", "Implicit", implicit1+part("Explicit", explicit3), "m.name='n'; m.id=9; m.part=Explicit('in', 1.5, 4)", "Implicit",
		obj{"id": 9.0, "weight": 0.0, "name": "n", "part": is(1.5, "in", 4)})
	// mixed: both, one level higher
	mixed := mixed1 + part("Implicit", implicit1) + part("Explicit", explicit1)
	add("/mixed1", "Mixed", mixed, "m.inner.id=1; m.inner.part.text='deep'; m.last=-32768", "Mixed",
		obj{"inner": obj{"id": 1.0, "weight": 0.0, "name": "", "part": is(0, "deep", 0)}, "last": -32768.0})
	// renamed types, with an array that gets a length
	for _, name := range []string{"Renamed1", "Renamed2", "Renamed3"} {
		add("/"+strings.ToLower(name), name, "float32 foo\nint32[] bar\n", "m.foo=2.5; m.bar=[8,2,5,1]", "Renamed4", obj{"foo": 2.5, "bar": []any{8.0, 2.0, 5.0, 1.0}})
	}
	// converging: two old types become one
	add("/converged1", "Converged", "float32[4] field1\nSimple[] field2\n"+part("Simple", "int16 data\n"), "m.field1=[1,2,3,4]; m.field2=[Simple(d) for d in (11,22,33,44)]", "Converged",
		obj{"field1": []any{1.0, 2.0, 3.0, 4.0}, "field2": []any{obj{"data": 11.0}, obj{"data": 22.0}, obj{"data": 33.0}, obj{"data": 44.0}}})
	add("/convergent2", "Convergent", "Simple[4] field2\nfloat32[] field1\n"+part("Simple", "int32 data\n"), "m.field1=[1,2,3,4]; m.field2=[Simple(d) for d in (11,22,33,44)]", "Converged",
		obj{"field1": []any{1.0, 2.0, 3.0, 4.0}, "field2": []any{obj{"data": 11.0}, obj{"data": 22.0}, obj{"data": 33.0}, obj{"data": 44.0}}})
	// hierarchical: the change is three levels deep
	header := "\n" + strings.Repeat("=", 80) + "\nMSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
	add("/super1", "SuperLevel", "Header header\nHierarchy below\nuint8 ok\n"+header+part("Hierarchy", "Mixed[] levels\nSimple top\n")+part("Mixed", mixed1)+part("Implicit", implicit1)+part("Explicit", explicit1)+part("Simple", "int16 data\n"),
		"m.header.frame_id='map'; m.header.stamp.secs=3; m.ok=1; m.below.top.data=77; m.below.levels=[Mixed()]; m.below.levels[0].inner.part.text='x'", "SuperLevel",
		obj{
			"header": obj{"seq": 0.0, "stamp": []any{3.0, 0.0}, "frame_id": "map"}, "ok": true,
			"below": obj{"top": obj{"data": 77.0}, "levels": []any{obj{"inner": obj{"id": 0.0, "weight": 0.0, "name": "", "part": is(0, "x", 0)}, "last": 0.0}}},
		})
	// constants, and a field that was split off
	add("/constants1", "Constants", "int32 CONSTANT=6\nint32 OLD=1\nint32 value\n", "m.value=6", "Constants", obj{"value": 6.0})
	add("/added1", "Added", "Explicit before\nuint8[] raw\n"+part("Explicit", explicit3), "m.before.count=42; m.raw=b'ab'", "Added",
		obj{"before": is(0, "", 42), "after": is(0, "", 0), "raw": []any{97.0, 98.0}})
	return old, now
}

// decisions are the options that generations need.
var decisions = []string{
	"--field", "gen/Explicit.size=size_m", "--field", "gen/Explicit.text=label",
	"--rename", "gen/Renamed1=gen/Renamed4", "--rename", "gen/Renamed2=gen/Renamed4", "--rename", "gen/Renamed3=gen/Renamed4", "--rename", "gen/Convergent=gen/Converged",
}

// newGenerations prepares classes of the current definitions, and returns their folder.
func newGenerations(t *testing.T, g *harness.Graph) (src string) {
	t.Helper()
	src = filepath.Join(g.Dir, "src")
	for name, text := range current {
		dir := filepath.Join(src, "gen", "msg")
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name+".msg"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	g.Env = append(g.Env, "PYTHONPATH="+filepath.Join(g.Dir, "python"))
	var done struct{}
	g.Python(&done, "fix.py", "classes", g.Dir)
	return src
}

// makeOld makes a bag of old messages.
func makeOld(t *testing.T, g *harness.Graph, bag string, rows []oldRow) {
	t.Helper()
	in, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	cmd := g.Command("python3", g.Script("fix.py"), "make", bag)
	cmd.Stdin = strings.NewReader(string(in))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// TestFixGenerations converts messages of older generations, and reads them with ROS's classes of the current one. Stock's
// check finds nothing to do, and stock's play delivers the same values.
func TestFixGenerations(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	src := newGenerations(t, g)
	old, want := generations()
	makeOld(t, g, "old.bag", old)
	if out := g.Run("rosbag", "check", "old.bag"); !strings.Contains(out, "gen/Explicit") {
		t.Fatalf("stock finds nothing to migrate:\n%s", out)
	}
	out := g.Run("gobag", append([]string{"fix", "old.bag", "new.bag", "--to", src}, decisions...)...)
	harness.Contains(t, out, "constant gen/Constants.CONSTANT is 7, and was 6: look whether the same number means the same", "nothing is lost")
	var got []newRow
	g.Python(&got, "fix.py", "read", "new.bag")
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("values (-want +got):\n%s", d)
	}
	wantMigrated(t, g, "new.bag")
	g.Run("gobag", append([]string{"fix", "old.bag", "installed.bag"}, decisions...)...) // by the classes that are installed
	if code, out := diff(g, "new.bag", "installed.bag"); code != 0 {
		t.Errorf("by the folder and by what is installed:\n%s", out)
	}
	wantMigrated(t, g, "installed.bag")

	args := []string{"listen"}
	for _, row := range want {
		args = append(args, row.Topic, row.Type)
	}
	listener := g.StartPython("fix.py", args...)
	listener.Printed("listening")
	g.Start("/usr/lib/rosbag/play", "-q", "-d", "2", "--wait-for-subscribers", "new.bag").Ended(0)
	listener.Ended(0)
	var heard map[string]any
	lines := strings.Split(strings.TrimSpace(listener.Out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &heard); err != nil {
		t.Fatal(err)
	}
	played := make(map[string]any)
	for _, row := range want {
		played[row.Topic] = withoutSeq(row.Values)
		withoutSeq(heard[row.Topic])
	}
	if d := cmp.Diff(played, heard); d != "" {
		t.Errorf("stock plays (-want +got):\n%s", d)
	}
}

// wantMigrated checks that stock finds nothing to do in a bag: its check, and its migration of each type, because the check
// looks only at the first of the types that have the same md5sum.
func wantMigrated(t *testing.T, g *harness.Graph, bag string) {
	t.Helper()
	harness.Contains(t, g.Run("rosbag", "check", bag), "Bag file does not need any migrations.")
	var differ []string
	g.Python(&differ, "fix.py", "check", bag)
	if len(differ) > 0 {
		t.Errorf("%s: stock would migrate %v", bag, differ)
	}
}

// TestFixTexts gives all standard types the texts that are installed, which is what stock compares.
func TestFixTexts(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	var types int
	g.Python(&types, "fix.py", "bare", "bare.bag")
	var differ []string
	if g.Python(&differ, "fix.py", "check", "bare.bag"); types < 100 || len(differ) < types/2 {
		t.Fatalf("of %d types, stock would migrate only %v", types, differ)
	}
	for _, to := range [][]string{{"--to", "noetic"}, nil} {
		g.Run("gobag", append([]string{"fix", "-f", "bare.bag", "new.bag"}, to...)...)
		wantMigrated(t, g, "new.bag")
	}
}

// withoutSeq takes out the sequence number, which rospy sets when it publishes and stock's play leaves.
func withoutSeq(v any) any {
	if m, ok := v.(map[string]any); ok {
		if h, ok := m["header"].(map[string]any); ok {
			delete(h, "seq")
		}
	}
	return v
}

// TestFixUndecided checks that nothing is written where a decision is missing, for each row that needs one.
func TestFixUndecided(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	src := newGenerations(t, g)
	makeOld(t, g, "old.bag", []oldRow{{"/a", "gen/Undecided", "string[] data\n", "m.data=['x']"}})
	out := g.Start("gobag", "fix", "old.bag", "new.bag", "--to", src)
	out.Ended(1, "gen/Undecided.data: string[] becomes int32: one cannot become the other: --drop gen/Undecided.data")
	if _, err := os.Stat(filepath.Join(g.Dir, "new.bag")); err == nil {
		t.Error("there is an output")
	}
	g.Start("gobag", "fix", "old.bag", "--to", src, "--dry-run").Ended(1, "1 definition cannot be converted: nothing is written")
}

// TestFixStandard converts a message of ROS that has got a field, for which stock has a rule that needs rosdep.
func TestFixStandard(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	makeOld(t, g, "old.bag", []oldRow{{"/roi", "sensor_msgs/RegionOfInterest", "uint32 x_offset\nuint32 y_offset\nuint32 height\nuint32 width\n", "m.x_offset=1; m.width=640"}})
	for _, to := range []string{"installed", "noetic"} {
		bag := to + ".bag"
		g.Run("gobag", "fix", "old.bag", bag, "--to", to, "--set", "sensor_msgs/RegionOfInterest.do_rectify=true")
		var got []newRow
		g.Python(&got, "fix.py", "read", bag)
		want := []newRow{{"/roi", "sensor_msgs/RegionOfInterest", map[string]any{"x_offset": 1.0, "y_offset": 0.0, "height": 0.0, "width": 640.0, "do_rectify": true}}}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("to %s (-want +got):\n%s", to, d)
		}
		wantMigrated(t, g, bag)
	}
}

// TestPlayToWanted plays old messages to a node that wants the current definition, to one that takes what comes, and to one
// that wants another type.
func TestPlayToWanted(t *testing.T) {
	t.Parallel()
	harness.NeedROS(t)
	g := harness.NewGraph(t, "gomaster")
	newGenerations(t, g)
	makeOld(t, g, "old.bag", []oldRow{{"/mixed", "gen/Added", "Explicit before\nuint8[] raw\n" + part("Explicit", explicit3), "m.before.count=42; m.raw=b'ab'"}})
	listener := g.StartPython("fix.py", "listen", "/mixed", "gen/Added")
	listener.Printed("listening")
	other := g.StartPython("fix.py", "listen", "/mixed", "gen/Simple")
	other.Printed("listening")
	rec := g.Record("/mixed", "-O", "copy")
	play := g.Start("goplay", "old.bag", "--to-wanted", "-d", "2", "--wait-for", "/mixed")
	play.Ended(0, "messages are converted for subscribers: another version of gen/Added: ", "another type: gen/Added, and not gen/Simple; no topic that is played has that type")
	listener.Ended(0)
	harness.Contains(t, listener.Out.String(), `"before": {"size_m": 0.0, "label": "", "count": 42}`, `"after": {"size_m": 0.0, "label": "", "count": 0}`)
	rec.Stop()
	if _, out := diff(g, "old.bag", "copy.bag"); !strings.HasPrefix(out, "Same but for the times: 1 message on 1 topic") {
		t.Errorf("who takes what comes got something else:\n%s", out)
	}
	other.Stop()
	again := g.StartPython("fix.py", "listen", "/mixed", "gen/Added")
	again.Printed("listening")
	g.Eventually("the subscription", func() bool {
		return g.Try("gobag", "fix", "old.bag", "subscriber.bag", "-f", "--to", "ros:///mixed") == nil // what the subscriber wants
	})
	harness.Contains(t, g.Run("goplay", "old.bag", "--dry-run"), "would be refused: /mixed: another version of gen/Added: ")
	harness.Contains(t, g.Run("goplay", "old.bag", "--dry-run", "--to-wanted"), "would get converted messages: /mixed: another version of gen/Added: ")
	g.Start("goplay", "old.bag", "-d", "1").Ended(0, "subscriber refused", "another version of gen/Added: ", "goplay --to-wanted converts while playing, gobag fix IN OUT --to DEFS makes a converted copy")
	again.Stop()
	var got []newRow
	g.Python(&got, "fix.py", "read", "subscriber.bag")
	publisher := g.Start("goplay", "subscriber.bag", "--loop")
	g.Eventually("the publisher", func() bool {
		return g.Try("gobag", "fix", "old.bag", "publisher.bag", "-f", "--to", "ros:///mixed") == nil
	})
	both := g.Record("/mixed", "-O", "both")
	both.Printed("Subscribing to")
	g.Start("goplay", "old.bag", "--wait-for", "/mixed").Ended(0)
	both.Printed("publishers of a topic have different definitions: each is recorded as a connection of its own")
	both.Stop()
	publisher.Stop()
	if code, out := diff(g, "subscriber.bag", "publisher.bag"); code != 0 {
		t.Errorf("what a publisher uses and what a subscriber wants:\n%s", out)
	}
}
