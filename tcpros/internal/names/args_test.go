package names_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

func TestParseArgs(t *testing.T) {
	rest, a, err := names.ParseArgs([]string{
		"-a", "foo:=/bar", "__name:=rec", "__ns:=/ns", "topic", "__master:=http://m:1", "__hostname:=h", "__ip:=1.2.3.4",
		"__log:=/tmp/log", "__tcpros_server_port:=4000", "__unknown:=x", "_i:=-3", "_big:=3000000000", "_f:=2.5",
		"_b:=true", "_s:=a:=b", "_e:=", "_:=x", "foo:=/last", "~p:=q",
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"-a", "topic"}, rest); diff != "" {
		t.Error(diff)
	}
	want := names.Args{
		Remaps: []names.Remap{{From: "foo", To: "/bar"}, {From: "foo", To: "/last"}, {From: "~p", To: "q"}},
		Name:   "rec", Namespace: "/ns", MasterURI: "http://m:1", Hostname: "h", IP: "1.2.3.4", LogFile: "/tmp/log", Port: 4000,
		Params: []names.Param{
			{Name: "i", Value: -3},
			{Name: "big", Value: 3e9},
			{Name: "f", Value: 2.5},
			{Name: "b", Value: true},
			{Name: "s", Value: "a:=b"},
			{Name: "e", Value: ""},
		},
	}
	if diff := cmp.Diff(want, a); diff != "" {
		t.Error(diff)
	}
}

func TestParseArgsRefuses(t *testing.T) {
	for _, arg := range []string{"__tcpros_server_port:=70000", "__tcpros_server_port:=x", "_s:=caf\xe9", "_s:=a\x01b"} {
		if _, _, err := names.ParseArgs([]string{arg}); err == nil {
			t.Errorf("%s: accepted", arg)
		}
	}
	if _, _, err := names.ParseArgs([]string{"_a b:=1"}); !errors.Is(err, names.ErrName) {
		t.Errorf("parameter name with a blank: %v", err)
	}
}
