package faults_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/gorosbag/gorosbag/test/integration/harness"
)

// mostOfMaster is the most memory of gomaster, whatever peers do with parameters.
const mostOfMaster = 200 << 20

// TestUnreadParameters: 57 MB of parameters, four peers that ask for all of them and do not read, and new values meanwhile
// keep gomaster below its bound.
func TestUnreadParameters(t *testing.T) {
	t.Parallel()
	harness.Long(t, "sets parameters of 114 MB")
	g := harness.NewGraph(t, "gomaster")
	set := func(letter string) {
		t.Helper()
		for i := range 3 {
			call := fmt.Sprintf(`<?xml version="1.0"?><methodCall><methodName>setParam</methodName><params><param><value>/w</value></param>`+
				`<param><value>/p/x%d</value></param><param><value>%s</value></param></params></methodCall>`, i, strings.Repeat(letter, 19<<20))
			r, err := http.Post("http://127.0.0.1:"+g.Port, "text/xml", strings.NewReader(call))
			if err != nil {
				t.Fatal(err)
			}
			answer, err := io.ReadAll(r.Body)
			r.Body.Close()
			if err != nil || !strings.Contains(string(answer), "<i4>1</i4>") && !strings.Contains(string(answer), "<int>1</int>") {
				t.Fatalf("%.300s, %v", answer, err)
			}
		}
	}
	set("x")
	const ask = `<?xml version="1.0"?><methodCall><methodName>getParam</methodName><params><param><value>/r</value></param><param><value>/p</value></param></params></methodCall>`
	for range 4 {
		conn, err := net.Dial("tcp", "127.0.0.1:"+g.Port)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n%s", len(ask), ask); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(make([]byte, 1)); err != nil { // the reply has begun
			t.Fatal(err)
		}
	}
	set("y")
	if got := peakMemory(t, g.Core.Cmd.Process.Pid); got > mostOfMaster {
		t.Errorf("%d MB, more than %d", got>>20, mostOfMaster>>20)
	}
}
