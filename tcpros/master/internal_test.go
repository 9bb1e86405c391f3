package master

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master/internal/notify"
	"github.com/gorosbag/gorosbag/tcpros/master/internal/outgoing"
)

func TestNames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, caller, want string }{
		{"/a", "/n", "/a"},
		{"//a//b/", "/n", "/a/b"},
		{"/", "/n", "/"},
		{"//", "/n", "/"},
		{"a", "/n", "/a"},
		{"a/b/", "/ns/n", "/ns/a/b"},
		{"a", "n", "/a"},
		{"a", "", "/a"},
		{"a", "/ns/n/", "/ns/a"},
		{"~a", "/ns/n", "/ns/n/a"},
		{"~/a", "/n", "/n/a"},
		{"~", "/n", "/n"},
		{"", "/ns/n", "/ns/"},
		{"", "/n", "/"},
	} {
		if got := resolve(tc.name, tc.caller); got != tc.want {
			t.Errorf("resolve(%q, %q) = %q, want %q", tc.name, tc.caller, got, tc.want)
		}
	}
}

// The size that bounds the tree must stay correct over any sequence of changes.
func TestParamTreeSize(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 1))
	tree := newParamTree()
	if err := tree.set("/", map[string]any{}); err != nil {
		t.Fatal(err)
	}
	key := func() string {
		var sb strings.Builder
		for range 1 + r.IntN(4) {
			sb.WriteString("/" + string(rune('a'+r.IntN(3))))
		}
		return sb.String()
	}
	var value func(depth int) any
	value = func(depth int) any {
		switch r.IntN(5) {
		case 0:
			m := map[string]any{}
			for range r.IntN(3) * depth {
				m[string(rune('a'+r.IntN(3)))] = value(depth - 1)
			}
			return m
		case 1:
			return []any{1, strings.Repeat("x", r.IntN(9))}
		default:
			return strings.Repeat("y", r.IntN(9))
		}
	}
	for i := range 5000 {
		k := key()
		if r.IntN(3) == 0 {
			had := tree.has(k)
			if got := tree.delete(k); got != had {
				t.Fatalf("step %d: delete(%s) = %v", i, k, got)
			}
		} else {
			v := value(2)
			want := fmt.Sprint(v) // the tree changes maps in place
			if err := tree.set(k, v); err != nil {
				t.Fatal(err)
			}
			got, ok := tree.lookup(k)
			if fmt.Sprint(got) != want || !ok {
				t.Fatalf("step %d: %s: %v instead of %s", i, k, got, want)
			}
		}
		if want, err := measure(tree.root, maxParamDepth); err != nil || tree.size != want {
			t.Fatalf("step %d: size %d, want %d, %v", i, tree.size, want, err)
		}
	}
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	const member = 1 + 2*scalarCost // of a name of one letter
	for _, tt := range []struct {
		v     any
		depth int // the least that is enough
		want  int64
	}{
		{1, 0, scalarCost},
		{"abc", 0, scalarCost + 3},
		{[]byte("ab"), 0, scalarCost + 2},
		{[]any{1, "a"}, 1, containerCost + 2*scalarCost + 1},
		{[]any{[]any{}}, 2, 2 * containerCost},
		{map[string]any{"a": 1, "b": "b"}, 1, containerCost + 2*member + 2*scalarCost + 1},
		{map[string]any{"a": map[string]any{"b": []any{}}}, 3, 3*containerCost + 2*member},
	} {
		if got, err := measure(tt.v, tt.depth); got != tt.want || err != nil {
			t.Errorf("%v: %d, want %d, %v", tt.v, got, tt.want, err)
		}
		if _, err := measure(tt.v, tt.depth-1); tt.depth > 0 && !errors.Is(err, errTooDeep) {
			t.Errorf("%v: depth %d is enough, %v", tt.v, tt.depth-1, err)
		}
	}
}

func TestParamTreeIsBounded(t *testing.T) {
	t.Parallel()
	tree := newParamTree()
	big := strings.Repeat("x", maxParamBytes/4)
	for i := range 3 {
		if err := tree.set(fmt.Sprintf("/%d", i), big); err != nil {
			t.Fatal(err)
		}
	}
	if err := tree.set("/more", big); err == nil {
		t.Error("the tree took more than its limit")
	}
	if err := tree.set("/0", big); err != nil {
		t.Errorf("a value cannot be replaced: %v", err)
	}
	if err := tree.set("/nil", []any{nil}); err == nil {
		t.Error("the tree took a nil")
	}
	if err := tree.set("/bytes", make([]byte, maxParamBytes)); err == nil {
		t.Error("the tree took more bytes than its limit")
	}
	// Names are counted as they are sent.
	if err := newParamTree().set("/names", map[string]any{strings.Repeat(`"`, maxParamBytes/4): 1}); err == nil {
		t.Error("the tree took a name that takes more than its limit in a message")
	}
}

func TestRegistryIsBounded(t *testing.T) {
	t.Parallel()
	m := &state{log: zap.NewNop(), reg: newRegistry(), params: newParamTree(), notify: notify.New(zap.NewNop(), new(sync.Mutex), new(atomic.Uint64))}
	defer m.notify.Close()
	m.reg.count = maxRegistrations
	for name, r := range map[string]reply{
		"publisher":        m.registerPublisher(call{args: []any{"/t", "a/B", "http://h:1"}}),
		"subscriber":       m.registerSubscriber(call{args: []any{"/t", "a/B", "http://h:1"}}),
		"service":          m.registerService(call{args: []any{"/t", "rosrpc://h:1", "http://h:1"}}),
		"param subscriber": m.subscribeParam(call{args: []any{"http://h:1", "/t"}}),
	} {
		if r.code != codeFailure {
			t.Errorf("%s: code %d", name, r.code)
		}
	}
	if len(m.reg.nodes) != 0 {
		t.Error("a node was registered")
	}
}

// The number of registrations that bounds the registry stays correct over any sequence of changes,
// each registration belongs to a node, and each node has one.
func TestRegistryCounts(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 1))
	r := newRegistry()
	for step := range 5000 {
		c := ref{fmt.Sprint("/n", rnd.IntN(3)), fmt.Sprint("http://h:", rnd.IntN(2))}
		name, at := fmt.Sprint("/x", rnd.IntN(3)), fmt.Sprint("rosrpc://h:", rnd.IntN(2))
		k := []kind{publisher, subscriber, paramSubscriber}[rnd.IntN(3)]
		switch rnd.IntN(5) {
		case 0:
			r.registerService(name, c, at)
		case 1:
			r.unregisterService(name, c.caller, at)
		case 2:
			r.register(k, name, c)
		default:
			r.unregister(k, name, c)
		}
		ofNodes, listed := 0, len(r.services)
		for caller, n := range r.nodes {
			ofNodes += len(n.regs)
			if len(n.regs) == 0 {
				t.Fatalf("step %d: %s has no registration", step, caller)
			}
		}
		for _, names := range r.refs {
			for name, list := range names {
				listed += len(list)
				if len(list) == 0 {
					t.Fatalf("step %d: %s has no node", step, name)
				}
			}
		}
		if r.count != ofNodes || r.count != listed {
			t.Fatalf("step %d: %d registrations counted, %d of nodes, %d listed", step, r.count, ofNodes, listed)
		}
	}
}

// Types of topics that nobody uses any more are forgotten when there are too many.
func TestTypesAreSwept(t *testing.T) {
	t.Parallel()
	r := newRegistry()
	r.sweepAt = 10
	n := ref{"/n", "http://h:1"}
	for i := range 10 {
		topic := fmt.Sprintf("/t%d", i)
		r.register(publisher, topic, n)
		r.publisherType(topic, "a/B")
		if i > 0 {
			r.unregister(publisher, topic, n)
		}
	}
	if len(r.types) != 10 {
		t.Fatalf("%d types before the sweep", len(r.types))
	}
	r.publisherType("/new", "a/B")
	if d := cmp.Diff(map[string]string{"/t0": "a/B", "/new": "a/B"}, r.types); d != "" {
		t.Error(d)
	}
}

// newHandler returns a master without a server.
func newHandler(t *testing.T) *Master {
	t.Helper()
	m := &Master{methods: methods(), answers: outgoing.New(), state: newState("http://h:1/", nil, zap.NewNop())}
	t.Cleanup(m.state.notify.Close)
	return m
}

// A change is made once, also if its answer is encoded twice: answers that are not small wait for room.
func TestChangesAreMadeOnce(t *testing.T) {
	t.Parallel()
	m := newHandler(t)
	key := "/" + strings.Repeat("<", maxNameBytes-1) // in an answer, each character takes four bytes
	if err := m.state.params.set(key, 1); err != nil {
		t.Fatal(err)
	}
	v, err := m.handle(t.Context(), "peer", "deleteParam", []any{"/n", key})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := xmlrpc.ParseResponse(v.(*xmlrpc.Answer).Body, xmlrpc.Limits{})
	if err != nil || answer.([]any)[0] != codeSuccess {
		t.Errorf("the parameter was deleted, and the answer is %.60v, %v", answer, err)
	}
}

// Equal calls share an answer that is not small, until a change.
func TestAnswersAreShared(t *testing.T) {
	t.Parallel()
	m := newHandler(t)
	get := func() (body []byte) {
		t.Helper()
		v, err := m.handle(t.Context(), "peer", "getParam", []any{"/n", "/big"})
		if err != nil {
			t.Fatal(err)
		}
		return v.(*xmlrpc.Answer).Body
	}
	set := func(letter string) {
		t.Helper()
		if _, err := m.handle(t.Context(), "peer", "setParam", []any{"/n", "/big", strings.Repeat(letter, 100_000)}); err != nil {
			t.Fatal(err)
		}
	}
	set("x")
	first, second := get(), get()
	if &first[0] != &second[0] {
		t.Error("the second answer is another one")
	}
	set("y")
	if third := get(); !bytes.Contains(third, []byte("yyy")) {
		t.Errorf("after a change: %.200s", third)
	}
}

// A name may be exactly as long as the limit.
func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	m := newHandler(t)
	caller := func(v any, _ string) (any, string) {
		c, err := m.prepare("peer", "getPid", []any{v})
		if err != nil {
			t.Error(err)
		}
		return v, c.problem
	}
	for what, tt := range map[string]struct {
		check check
		start string
	}{
		"caller_id":  {caller, "/"},
		"topic":      {name("topic", true), "/"},
		"topic_type": {typeName("topic_type"), "a/"},
		"caller_api": {uri("caller_api"), "http://"},
		"key":        {paramKey, "/"},
		"subgraph":   {subgraph, "/"},
	} {
		longest := tt.start + strings.Repeat("x", maxNameBytes-len(tt.start))
		if v, problem := tt.check(longest, "/n"); v != longest || problem != "" {
			t.Errorf("%s of %d bytes: %.20v, %s", what, len(longest), v, problem)
		}
		if _, problem := tt.check(longest+"x", "/n"); problem != tooLong(what) {
			t.Errorf("%s of %d bytes: %s", what, len(longest)+1, problem)
		}
	}
}

// Python takes the empty value of each type for false.
func TestPythonFalse(t *testing.T) {
	t.Parallel()
	for _, v := range []any{nil, "", 0, 0.0, false, []any{}, map[string]any{}} {
		if !isPythonFalse(v) {
			t.Errorf("%#v is true", v)
		}
	}
	for _, v := range []any{"0", 1, 0.5, true, []any{0}, map[string]any{"a": 0}, []byte{}, time.Time{}} {
		if isPythonFalse(v) {
			t.Errorf("%#v is false", v)
		}
	}
}

// A node that was replaced does not replace the other one when it subscribes a parameter once more.
func TestReplacedNodeSubscribes(t *testing.T) {
	t.Parallel()
	const first, second, third = "http://127.0.0.1:1/a", "http://127.0.0.1:1/b", "http://127.0.0.1:1/c"
	m := newHandler(t)
	for _, tt := range []struct {
		call string
		args []any
		want string // URI of the node afterwards
	}{
		{"registerPublisher", []any{"/n", "/t", "a/B", first}, first},
		{"registerPublisher", []any{"/n", "/t", "a/B", second}, second},
		{"subscribeParam", []any{"/n", first, "/k"}, second},
		{"subscribeParam", []any{"/n", second, "/k"}, second},
		{"subscribeParam", []any{"/n", third, "/k"}, third},
		{"subscribeParam", []any{"/other", first, "/k"}, third},
	} {
		if _, err := m.handle(t.Context(), "peer", tt.call, tt.args); err != nil {
			t.Fatal(err)
		}
		if got := m.state.reg.nodes["/n"].uri; got != tt.want {
			t.Errorf("%s%v: the node is at %s, want %s", tt.call, tt.args, got, tt.want)
		}
	}
}

// A system.multicall runs no call before there is room for all results.
func TestMulticallWaitsForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newHandler(t)
		if err := m.state.params.set("/big", strings.Repeat("x", maxMulticallBytes*3/4)); err != nil {
			t.Fatal(err)
		}
		calls := []any{[]any{map[string]any{"methodName": "getParam", "params": []any{"/n", "/big"}}}}
		for i, want := range []error{nil, nil, context.DeadlineExceeded} { // of 16 MiB, 6 and 12 are in use
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := m.handle(ctx, "peer", "system.multicall", calls); !errors.Is(err, want) {
				t.Errorf("call %d: %v", i, err)
			}
			cancel()
		}
	})
}

func TestRunID(t *testing.T) {
	t.Parallel()
	for at, want := range map[int64]string{
		0:             "^13814000-1dd2-11b2-",
		1_000_000_000: "^83424000-a4c4-11d5-",
	} {
		if got := newRunID(time.Unix(at, 0)); !regexp.MustCompile(want + "[89ab][0-9a-f]{3}-[0-9a-f][13579bdf][0-9a-f]{10}$").MatchString(got) {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
}

// Nodes on other machines need a host that they can reach in the URI, not the address of all interfaces.
func TestDefaults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ in, want Options }{
		{Options{}, Options{Listen: "127.0.0.1:11311", URIHost: "127.0.0.1"}},
		{Options{Listen: ":0"}, Options{Listen: ":0", URIHost: "localhost"}},
		{Options{Listen: "0.0.0.0:1"}, Options{Listen: "0.0.0.0:1", URIHost: "localhost"}},
		{Options{Listen: "[::]:1"}, Options{Listen: "[::]:1", URIHost: "localhost"}},
		{Options{Listen: "10.0.0.7:1"}, Options{Listen: "10.0.0.7:1", URIHost: "10.0.0.7"}},
		{Options{Listen: "robot:1"}, Options{Listen: "robot:1", URIHost: "robot"}},
		{Options{Listen: "0.0.0.0:1", URIHost: "a.local"}, Options{Listen: "0.0.0.0:1", URIHost: "a.local"}},
	} {
		got, err := tt.in.withDefaults()
		if err != nil || got.Listen != tt.want.Listen || got.URIHost != tt.want.URIHost || got.Log == nil {
			t.Errorf("%+v: %+v, %v", tt.in, got, err)
		}
	}
	if _, err := (Options{Listen: "robot"}).withDefaults(); err == nil {
		t.Error("an address without a port is accepted")
	}
}
