package unlike_test

import (
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

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
