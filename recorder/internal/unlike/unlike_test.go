package unlike_test

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/gorosbag/gorosbag/internal/ros/topicname"
	"github.com/gorosbag/gorosbag/recorder/internal/unlike"
	"github.com/gorosbag/gorosbag/rosbag"
	"github.com/gorosbag/gorosbag/rosmsg"
)

func header(t *testing.T, caller, typ, text, sum string) rosbag.Header {
	t.Helper()
	if sum == "" {
		parsed, err := rosmsg.Parse(typ, text)
		if err != nil {
			t.Fatal(err)
		}
		sum = parsed.MD5Sum()
	}
	return rosbag.Header{{Key: "callerid", Value: caller}, {Key: "md5sum", Value: sum}, {Key: "message_definition", Value: text}, {Key: "type", Value: typ}}
}

// TestOpened checks which publishers have a line in the log, and that each has one.
func TestOpened(t *testing.T) {
	t.Parallel()
	const old, wide = "int16 mode\n", "int32 mode\n"
	for _, test := range []struct {
		name   string
		others []rosbag.Header // after one of my/State with the old definition
		want   string          // the reasons
	}{
		{"alike", []rosbag.Header{header(t, "/b", "my/State", old, ""), header(t, "/b", "my/State", "# other comments\n"+old, "")}, ""},
		{"any", []rosbag.Header{header(t, "/b", "my/State", old, "*"), header(t, "/b", "*", "", "*")}, ""},
		{"another version", []rosbag.Header{header(t, "/b", "my/State", wide, ""), header(t, "/b", "my/State", wide, "")}, "another version of my/State: my/State.mode: int16 becomes int32"},
		{"another type", []rosbag.Header{header(t, "/b", "my/Other", "string s\n", "")}, "another type: my/State, and not my/Other"},
		{
			"a wrong text",
			[]rosbag.Header{header(t, "/b", "my/State", "no field\n", strings.Repeat("1", 32))},
			`another version of my/State, md5sum 11111111111111111111111111111111: its definition of "my/State": line 1: no definition of "my/no", and none of the known ones of my/State has its md5sum 11111111111111111111111111111111`,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			core, logs := observer.New(zapcore.InfoLevel)
			log := zap.New(core)
			var w unlike.Watch
			for _, h := range append([]rosbag.Header{header(t, "/a", "my/State", old, "")}, test.others...) {
				w.Opened("/state", h, log)
			}
			var got []string
			for _, l := range logs.All() {
				got = append(got, l.ContextMap()["reason"].(string))
			}
			if strings.Join(got, "\n") != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
	core, logs := observer.New(zapcore.InfoLevel)
	var w unlike.Watch
	w.Opened("/state", header(t, "/a", "my/State", "int8 x\n", strings.Repeat("1", 32)), zap.New(core))
	if all := logs.All(); len(all) != 1 || !strings.Contains(all[0].Message, "is not usable") {
		t.Errorf("of the first publisher: %v", all)
	}
}

// TestMemory: definitions stay, as they are compared with those of later publishers, but each once, and not more than there is
// memory for. No line is longer than people can read, whatever a publisher calls itself.
func TestMemory(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	var w unlike.Watch
	for name, own := range map[string]bool{"alike": false, "each another": true} {
		before := heap()
		for i := range 200 {
			text := "int8 x\n# " + strings.Repeat("comment ", 20_000)
			if own {
				text += strconv.Itoa(i)
			}
			w.Opened(topicname.InGraph("/"+name+strconv.Itoa(i)), header(t, "/a", "my/State", text, ""), zap.New(core))
		}
		if used := heap() - before; used > 24<<20 {
			t.Errorf("%s: %d bytes", name, used)
		}
	}
	long := strings.Repeat("n", 100_000)
	w.Opened("/t", header(t, "/"+long, "my/State", "int8 x\n", strings.Repeat("1", 32)), zap.New(core))
	if all := logs.All(); len(all) != 1 || len(all[0].ContextMap()["publisher"].(string)) > 300 {
		t.Errorf("%d lines", len(all))
	}
}

// heap returns the bytes that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
