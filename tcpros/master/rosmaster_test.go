package master_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

// step is one line of testdata/rosmaster.jsonl, which was recorded from rosmaster 1.15.15: a call
// and its answer, or the notices to four nodes S0 to S3 since the line before. Ours is the behavior
// of this master where it differs, and Why is the reason.
type step struct {
	Call    string
	Args    []any
	Answer  any
	Notices [][]any
	Ours    any
	Why     string
}

func readSteps(t *testing.T) []step {
	t.Helper()
	f, err := os.Open("testdata/rosmaster.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var steps []step
	for sc := bufio.NewScanner(f); sc.Scan(); {
		var s step
		d := json.NewDecoder(strings.NewReader(sc.Text()))
		d.UseNumber()
		if err := d.Decode(&s); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, s)
	}
	return steps
}

// session replaces the placeholders of a recording by the values of this test.
type session struct {
	client
	m      *master.Master
	slaves []*slave
	marks  int
}

// live converts a value of the recording to a value to send or expect.
func (s *session) live(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, err := strconv.Atoi(v.String()); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case string:
		for i, sl := range s.slaves {
			v = strings.ReplaceAll(v, "S"+strconv.Itoa(i), sl.uri)
		}
		if v == "URI" {
			return s.m.URI()
		}
		return v
	case []any:
		list := []any{}
		for _, e := range v {
			list = append(list, s.live(e))
		}
		return list
	case map[string]any:
		if b, ok := v["base64"].(string); ok {
			raw, _ := base64.StdEncoding.DecodeString(b)
			return raw
		}
		if b, ok := v["time"].(string); ok {
			at, _ := time.Parse("20060102T15:04:05", b)
			return at
		}
		m := map[string]any{}
		for k, e := range v {
			m[k] = s.live(e)
		}
		return m
	default:
		return v
	}
}

// answer makes a call and returns the answer in the form of the recording.
func (s *session) answer(call string, args []any) any {
	s.t.Helper()
	got, err := s.call(call, args...)
	var f *xmlrpc.Fault
	if errors.As(err, &f) {
		return map[string]any{"fault": f.Code}
	} else if err != nil {
		s.t.Fatal(err)
	}
	list, _ := got.([]any)
	switch {
	case call == "getPid" && list[0] == 1:
		list[2] = "PID"
	case call == "system.multicall":
		for i, r := range list {
			if m, ok := r.(map[string]any); ok {
				list[i] = map[string]any{"fault": m["faultCode"]}
			}
		}
	}
	return got
}

// notices returns the notices to each node so far, sorted and without repetitions, since the queues
// may merge notices. A marker sent through the ordered queue of each node shows that all notices
// before it have arrived.
func (s *session) notices() []any {
	s.t.Helper()
	var all []any
	for i, sl := range s.slaves {
		s.marks++
		node, key := "/mark"+strconv.Itoa(i), "/mark/"+strconv.Itoa(s.marks)
		s.ok("subscribeParam", node, sl.uri, key)
		s.ok("setParam", "/marker", key, s.marks)
		told := []any{}
		for {
			c := sl.next(s.t)
			if key, ok := c[2].(string); ok && c[0] == "paramUpdate" && strings.HasPrefix(key, "/mark/") {
				if c[3] == s.marks {
					break
				}
				continue // seen by a node that subscribed everything
			}
			told = append(told, c)
		}
		slices.SortFunc(told, func(a, b any) int { return strings.Compare(asJSON(a), asJSON(b)) })
		all = append(all, slices.CompactFunc(told, func(a, b any) bool { return cmp.Equal(a, b) }))
		s.ok("unsubscribeParam", node, sl.uri, key)
		s.ok("deleteParam", "/marker", "/mark")
	}
	return all
}

func asJSON(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func TestAnswersAsRosmaster(t *testing.T) {
	m, c := start(t, master.Options{})
	s := &session{client: c, m: m}
	for range 4 {
		s.slaves = append(s.slaves, newSlave(t, nil))
	}
	for _, p := range []string{"/run_id", "/rosversion", "/rosdistro"} { // set by roscore, not by rosmaster
		s.ok("deleteParam", "/x", p)
	}
	for i, step := range readSteps(t) {
		var got, want any
		if step.Call == "" {
			got, want = s.notices(), anySlice(step.Notices)
		} else {
			args, _ := s.live(step.Args).([]any)
			got, want = s.answer(step.Call, args), step.Answer
		}
		if step.Why != "" {
			want = step.Ours
		}
		want = s.live(want)
		if step.Call == "" {
			want = sortEach(want)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("line %d: %s%v: %s", i+1, step.Call, step.Args, d)
		}
	}
}

func anySlice[T any](list []T) []any {
	var all []any
	for _, v := range list {
		all = append(all, v)
	}
	return all
}

// sortEach sorts the notices of each node, whose order depends on the URIs.
func sortEach(v any) any {
	all, _ := v.([]any)
	for _, told := range all {
		list, _ := told.([]any)
		slices.SortFunc(list, func(a, b any) int { return strings.Compare(asJSON(a), asJSON(b)) })
	}
	return all
}
