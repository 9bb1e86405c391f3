package tcpros_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// TestUnfit checks that subscribers with another definition get what Unfit says, each version made once for all of them, also of
// latched frames; that the others get the published frames; and that the log says why one is refused.
func TestUnfit(t *testing.T) {
	log, logs := observedLog()
	o := nodeOptions("pub", newMaster(t).URI())
	o.Log = log
	n := newNode(t, o)
	made := 0 // guarded by the lock of the publication
	wide := &tcpros.Adapted{Type: "p/Wide", MD5Sum: "beef", MessageDefinition: "string s", Frame: func(f []byte) []byte {
		made++
		if string(f[4:]) == "left out" {
			return nil
		}
		return frame("wide " + string(f[4:]))
	}}
	p, err := n.Advertise(tcpros.AdvertiseOptions{
		Topic: "/t", Type: "std_msgs/String", MD5Sum: stringMD5, MessageDefinition: "string data",
		Unfit: func(asked tcpros.Header) (*tcpros.Adapted, string) {
			switch sum, _ := asked.Get("md5sum"); sum {
			case "beef":
				return wide, ""
			case stringMD5:
				return nil, ""
			}
			return nil, "it is another type"
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	address := tcprosAddress(t, n, "/t")
	latching, plain := p.Source(true), p.Source(false)
	latching.Publish(frame("left out"))
	latching.Publish(frame("map"))
	good := subscriberHeader("/good", "/t")
	one, reply := dial(t, address, with(with(good, "callerid", "/one"), "md5sum", "beef"))
	if got := slices.Sorted(fieldsOf(reply)); !cmp.Equal(got, []string{"callerid=/pub", "latching=1", "md5sum=beef", "message_definition=string s", "topic=/t", "type=p/Wide"}) {
		t.Errorf("reply %v", got)
	}
	two, _ := dial(t, address, with(with(good, "callerid", "/two"), "md5sum", "beef"))
	same, _ := dial(t, address, with(good, "message_definition", "string data # a comment"))
	if _, refused := dial(t, address, with(with(good, "callerid", "/other"), "md5sum", "0123")); len(refused) != 1 || refused[0].Key != "error" {
		t.Errorf("reply %v", refused)
	}
	waitFor(t, "the subscribers", func() bool { return p.Subscribers() == 3 })
	made = 0
	for _, text := range []string{"a", "left out", "b"} {
		plain.Publish(frame(text))
	}
	if made != 3 {
		t.Errorf("%d frames were made, want 3", made)
	}
	for _, c := range []struct {
		name string
		got  []string
		want []string
	}{
		{"/one", readFrames(t, one, 3), []string{"wide map", "wide a", "wide b"}},
		{"/two", readFrames(t, two, 3), []string{"wide map", "wide a", "wide b"}},
		{"/good", readFrames(t, same, 4), []string{"map", "a", "left out", "b"}},
	} {
		if !cmp.Equal(c.got, c.want) {
			t.Errorf("%s got %q, want %q", c.name, c.got, c.want)
		}
	}
	if all := logs.FilterMessage("subscriber refused").FilterField(zap.String("reason", "it is another type")).All(); len(all) != 1 {
		t.Errorf("the log says %v", logs.All())
	}
	_ = one.Close()
	_ = two.Close()
	waitFor(t, "the end of two", func() bool { return p.Subscribers() == 1 })
	if plain.Publish(frame("c")); made != 3 {
		t.Error("a frame was made for nobody")
	}
}

// fieldsOf yields key=value of a header.
func fieldsOf(h tcpros.Header) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for _, f := range h {
			if !yield(f.Key + "=" + f.Value) {
				return
			}
		}
	}
}
