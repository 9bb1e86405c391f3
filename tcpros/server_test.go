package tcpros_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap/zapcore"
)

// Refused subscribers cannot fill the log, or memory, with names that they make up.
func TestRefusalsAreShort(t *testing.T) {
	start := time.Now()
	o := nodeOptions("pub", newMaster(t).URI())
	log, logs := observedLog()
	o.Log = log
	n := newNode(t, o)
	advertise(t, n, "/t", 0)
	address := tcprosAddress(t, n, "/t")
	long := strings.Repeat("x", 100_000)
	for i := range 5 {
		_, reply := dial(t, address, subscriberHeader(fmt.Sprint("/s", i, long), fmt.Sprint("/none", i, long)))
		if _, refused := reply.Get("error"); !refused {
			t.Fatalf("got %.200v", reply)
		}
	}
	if _, err := reply(t, n.URI(), "shutdown", "/c", long); err != nil {
		t.Error(err)
	}
	said := logs.FilterMessage("subscriber refused").All()
	saidOnce(t, "subscriber refused", len(said), start)
	for _, e := range append(said, logs.FilterMessage("shutdown request refused").All()...) {
		for _, f := range e.Context {
			if f.Type == zapcore.StringType && len(f.String) > 256 {
				t.Errorf("%s: %s of %d bytes", e.Message, f.Key, len(f.String))
			}
		}
	}
}

// A name that XML cannot represent would turn every answer of getBusInfo into a fault.
func TestCallerIDs(t *testing.T) {
	n, p, address := publisher(t, 0)
	for id, want := range map[string]bool{
		"/s": true, "/my-node": true, "/caf\u00e9": true, "no_slash": true,
		"/a\x01": false, "/a\xff": false, "/a\n": false, "/a\x7f": false, "/a\ufffe": false,
		"/" + strings.Repeat("x", 1023): true, "/" + strings.Repeat("x", 1024): false,
	} {
		_, reply := dial(t, address, subscriberHeader(id, "/t"))
		text, refused := reply.Get("error")
		if refused == want || refused && !strings.HasPrefix(text, "received a connection with an invalid callerid [") {
			t.Errorf("%.20q: refused %v, %.200q", id, refused, text)
		}
	}
	waitFor(t, "the links", func() bool { return p.Subscribers() == 5 })
	if rows := call(t, n.URI(), "getBusInfo", "/c").([]any); len(rows) != 5 {
		t.Errorf("rows: %v", rows)
	}
}
