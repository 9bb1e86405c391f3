package stock_test

import (
	"strings"
	"testing"
)

// nameRows are what the bags are called.
func nameRows() []recordRow {
	chatter := func(files string) want { return want{files: files, topics: "/chatter"} }
	noName := &want{code: 1, says: "Bag filename is empty"}
	return []recordRow{
		{name: "6 date", args: "/chatter", ours: chatter("DATE.bag")},
		{name: "6 prefix", args: "/chatter -o pre", ours: chatter("pre_DATE.bag")},
		{name: "6 prefix with suffix", args: "/chatter --output-prefix=pre.bag", ours: chatter("pre_DATE.bag")},
		{name: "6 prefix, wrapper", args: "/chatter -o pre.bag", wrapper: true, ours: chatter("pre_DATE.bag")},
		{name: "6 empty prefix", args: "/chatter -o ''", ours: chatter("DATE.bag")},
		{name: "6 name", args: "/chatter -O x", ours: chatter("x.bag")},
		{name: "6 name with suffix, wrapper", args: "/chatter --output-name=x.bag", wrapper: true, ours: chatter("x.bag")},
		{name: "6 name with another suffix", args: "/chatter --output-name x.tar", ours: chatter("x.tar.bag")},
		{name: "6 name with two suffixes", args: "/chatter -O x.bag.bag", ours: chatter("x.bag.bag")},
		{name: "6 directory", args: "/chatter -O ../{who}/x", ours: chatter("x.bag")},
		{name: "6 directory as prefix", args: "/chatter -o ./pre", ours: chatter("pre_DATE.bag")},
		{name: "6 empty name: none given", args: "/chatter -O ''", ours: chatter("DATE.bag"), stock: noName},
		{name: "6 empty name, wrapper", args: "/chatter -O ''", wrapper: true, ours: chatter("DATE.bag")},
		{name: "6 empty name with split", args: "/chatter -O '' --split", ours: chatter("DATE_0.bag"), stock: &want{files: "0.bag", topics: "/chatter"}},
		{name: "6 prefix with split", args: "/chatter -o pre --split", ours: chatter("pre_DATE_0.bag")},
		{name: "equals sign after a short option", args: "/chatter -O=x", ours: chatter("x.bag"), stock: &want{files: "=x.bag", topics: "/chatter"}},
		{name: "13 cluster", args: "-aOname", ours: want{files: "name.bag", topics: everything}},
		{name: "13 cluster with bz2", args: "-ajOname", ours: want{files: "name.bag", topics: everything}},
		{name: "13 cluster with bz2, wrapper", args: "-ajOname", wrapper: true, ours: want{files: "name.bag", topics: everything}},
	}
}

const everything = "/big /chatter /latched /ns/num"

// selectRows are what is recorded, and under which name.
func selectRows() []recordRow {
	x := func(topics string) want { return want{files: "x.bag", topics: topics} }
	differs := func(topics string) *want { w := x(topics); return &w }
	node := func(topics string) want {
		return want{files: "x.bag", topics: topics, says: "Recording from: /listener"}
	}
	implicit := want{files: "x.bag", topics: everything, says: "Exclusion regex given, but no topics to subscribe to."}
	return []recordRow{
		{name: "all", args: "--all -O x", ours: x(everything)},
		{name: "all, wrapper", args: "--all -O x", wrapper: true, ours: x(everything)},
		{name: "positionals anywhere", args: "/chatter -O x /ns/num", ours: x("/chatter /ns/num")},
		{name: "after two dashes", args: "-O x -- /chatter", ours: x("/chatter")},
		{name: "after two dashes, wrapper", args: "-O x -- /chatter", wrapper: true, ours: x("/chatter")},
		{name: "topic as an option", args: "--topic /chatter --topic=/ns/num -O x /latched", ours: x("/chatter /latched /ns/num")},
		{name: "twice the same", args: "/chatter /chatter -O x", ours: x("/chatter"), check: everyMessageOnce},
		{name: "relative and all: once", args: "-a chatter -O x", ours: x("/big /latched /ns/num chatter"), stock: differs("/big /chatter /latched /ns/num chatter")},
		{name: "8 exclude alone", args: "-x ros -O x", ours: implicit},
		{name: "8 exclude beside a topic", args: "/chatter --exclude=ros -O x", ours: implicit},
		{name: "8 exclude alone, wrapper: refused", args: "-x ros -O x", wrapper: true, ours: implicit, stock: &want{code: 2, says: "You must specify a topic name"}},
		{name: "8 exclude beside a topic, wrapper", args: "/chatter -x ros -O x", wrapper: true, ours: implicit},
		{name: "9 all but", args: "-a -x /(ros|big).* -O x", ours: x("/chatter /latched /ns/num"), check: nothingOf("/rosout")},
		{name: "9 all but, wrapper", args: "--all --exclude /(ros|big).* -O x", wrapper: true, ours: x("/chatter /latched /ns/num"), check: nothingOf("/rosout")},
		{name: "9 exclude twice: both", args: "-a -x /big -x /ch.* -O x", ours: x("/latched /ns/num"), stock: &want{code: killed, says: "cannot be specified more than once"}},
		{name: "9 exclude twice, wrapper: the last", args: "-a -x /big -x /ch.* -O x", wrapper: true, ours: x("/latched /ns/num"), stock: differs("/big /latched /ns/num")},
		{name: "9 exclude does not touch names", args: "/chatter -a -x /(ch|big).* -O x", ours: x("/chatter /latched /ns/num")},
		{name: "10 regex", args: "-e /chat.* -O x", ours: x("/chatter")},
		{name: "10 regex matches as a whole", args: "--regex chatter /chat /(ns/)?num -O x", ours: x("/ns/num")},
		{name: "10 regex, wrapper", args: "--regex /chat /.*n.m -O x", wrapper: true, ours: x("/ns/num")},
		{name: "10 regex but", args: "-e /.*(t|num).* -x /chatter -O x", ours: x("/latched /ns/num")},
		{name: "10 regex with a count", args: "-e .*num -l 4 --duration 10 -O x", ends: true, ours: x("/ns/num"), check: messages("/ns/num", 4)},
		{name: "10 regex that is none beside all", args: "-a -e ( -O x", ours: want{code: 1, says: `topic: "("`}, stock: differs(everything)},
		{name: "10 regex with look-ahead", args: "-e /(?!big|ros).* -O x", ours: want{code: 1, says: "to leave topics out use -x"}, stock: differs("/chatter /latched /ns/num")},
		{name: "14 remapped", args: "renamed renamed:=chatter -O x", ours: x("renamed"), check: topicInHeader("renamed", "/chatter")},
		{name: "14 remapped, wrapper", args: "renamed renamed:=chatter -O x", wrapper: true, ours: x("renamed"), check: topicInHeader("renamed", "/chatter")},
		{name: "14 remapped to", args: "/renamed /renamed:=/ns/num -O x", ours: x("/renamed"), check: topicInHeader("/renamed", "/ns/num")},
		{name: "15 relative", args: "chatter -O x", ours: x("chatter"), check: topicInHeader("chatter", "/chatter")},
		{name: "15 relative to a namespace", args: "num -O x", env: "ROS_NAMESPACE=ns", ours: x("num"), check: topicInHeader("num", "/ns/num")},
		{name: "15 relative to an argument", args: "num __ns:=/ns -O x", ours: x("num"), check: topicInHeader("num", "/ns/num")},
		{name: "15 more slashes than needed", args: "//chatter -O x", ours: x("//chatter"), check: topicInHeader("//chatter", "/chatter")},
		{name: "15 private", args: "~num __name:={who}_15 /{who}_15/num:=/ns/num -O x", ours: x("~num"), stock: &want{code: killed, says: "Using ~ names with NodeHandle methods is not allowed"}},
		{name: "16 two publishers", args: "/chatter /latched -O x", ours: x("/chatter /latched"), check: fromBoth},
		{name: "42 node", args: "--node /listener -O x", ours: node("/chatter /ns/num")},
		{name: "42 node, wrapper", args: "--node=/listener -O x", wrapper: true, ours: node("/chatter /ns/num")},
		{name: "42 node and topics", args: "/latched --node=/listener -O x", ours: node("/chatter /latched /ns/num")},
		{name: "42 node but: of its topics", args: "--node /listener -x /ch.* -O x", ours: node("/ns/num"), stock: differs("/big /latched /ns/num")},
		{name: "42 unknown node", args: "/chatter --node /nobody -O x", ours: x("/chatter")},
		{name: "27 publish", args: "-p /chatter __ns:=/row27_{who} -O x", ours: x("/chatter")},
		{name: "27 publish, wrapper", args: "--publish /chatter __ns:=/row27w_{who} -O x", wrapper: true, ours: x("/chatter")},
		{name: "12 quiet", args: "-q /chatter -O x", ours: x("/chatter"), check: silent, stock: &want{files: "x.bag", topics: "/chatter", says: "Recording to"}},
		{name: "12 quiet, wrapper", args: "--quiet /chatter -O x", wrapper: true, ours: x("/chatter"), check: silent},
		{name: "repeat latched", args: "--repeat-latched /latched /chatter -O x", ours: x("/chatter /latched"), check: fromBoth},
		{name: "repeat latched, wrapper", args: "--repeat-latched /latched /chatter -O x", wrapper: true, ours: x("/chatter /latched"), check: fromBoth},
		{name: "no delay", args: "--tcpnodelay /chatter -O x", ours: x("/chatter")},
		{name: "no delay, wrapper", args: "--tcpnodelay /chatter -O x", wrapper: true, ours: x("/chatter")},
		{name: "43 UDP", args: "--udp /chatter -O x", ours: x("/chatter"), stock: differs("")},
		{name: "43 UDP, wrapper", args: "--udp /chatter -O x", wrapper: true, ours: x("/chatter"), stock: differs("")},
		{name: "unlimited buffer, tiny chunks", args: "-b 0 --chunksize 0 /chatter -O x", ours: x("/chatter"), check: everyMessageOnce},
		{name: "buffer", args: "--buffsize=1 --chunksize=1 /chatter -O x", ours: x("/chatter"), check: everyMessageOnce},
		{name: "buffer, wrapper", args: "-b 0 --chunksize=0 /chatter -O x", wrapper: true, ours: x("/chatter"), check: everyMessageOnce},
		{name: "abbreviations that are one for stock", args: "--reg /chat.* --e /big --c 5 --li 0 --bu 9 --q --rep --tc --mi 1 --output-n=x", ours: x("/chatter")},
		{name: "abbreviations, wrapper", args: "--al --ex=/b.* --c=5 --li=0 --p --tc __ns:=/row_{who} --output-n x", wrapper: true, ours: x("/chatter /latched /ns/num")},
		{name: "plus sign", args: "/chatter -b +5 -O x", ours: x("/chatter")},
		{name: "min-space", args: "/chatter --min-space 1k -O x", ours: x("/chatter")},
		{name: "min-space of nothing", args: "/chatter -L 0 -O x", ours: x("/chatter")},
		{name: "unknown special argument", args: "/chatter __future:=1 __log:=/dev/null -O x", ours: x("/chatter")},
	}
}

// messages checks the number of messages.
func messages(topic string, n int) func(*testing.T, *outcome) {
	return func(t *testing.T, o *outcome) {
		t.Helper()
		if got := o.topics[topic]; got == nil || len(got.Messages) != n {
			t.Errorf("%s: not %d messages of %s", o.who, n, topic)
		}
	}
}

// silent checks that ours prints nothing when all is well. Stock does.
func silent(t *testing.T, o *outcome) {
	t.Helper()
	if out := o.p.Out.String(); o.who == "ours" && out != "" {
		t.Errorf("with -q ours prints %q", out)
	}
}

// nothingOf checks that no topic begins like that.
func nothingOf(prefix string) func(*testing.T, *outcome) {
	return func(t *testing.T, o *outcome) {
		t.Helper()
		for topic := range o.topics {
			if strings.HasPrefix(topic, prefix) {
				t.Errorf("%s has recorded %s", o.who, topic)
			}
		}
	}
}

// topicInHeader checks under which name the publisher knows a topic.
func topicInHeader(topic, want string) func(*testing.T, *outcome) {
	return func(t *testing.T, o *outcome) {
		t.Helper()
		for _, h := range o.topics[topic].Headers {
			if got, _ := h.Get("topic"); got != want {
				t.Errorf("%s: the header of %s says %q, want %q", o.who, topic, got, want)
			}
		}
	}
}

// everyMessageOnce checks that nothing of /chatter comes twice.
func everyMessageOnce(t *testing.T, o *outcome) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range o.topics["/chatter"].Messages {
		if seen[string(m.Data)] {
			t.Fatalf("%s: %q is in the bag twice", o.who, m.Data[4:])
		}
		seen[string(m.Data)] = true
	}
}

// fromBoth checks that each topic has a connection for each of its publishers, with
// what they said about latching.
func fromBoth(t *testing.T, o *outcome) {
	t.Helper()
	for name, topic := range o.topics {
		callers := map[string]string{}
		for _, h := range topic.Headers {
			callers[h.CallerID()], _ = h.Get("latching")
		}
		latching := "0"
		if name == "/latched" {
			latching = "1"
		}
		if len(callers) != 2 || callers["/one"] != latching || callers["/two"] != latching {
			t.Errorf("%s: %s comes from %v", o.who, name, callers)
		}
	}
}
