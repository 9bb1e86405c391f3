package rosapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/internal/endpoint"
)

// A reply may be as large as the call needs: replies of nodes are smaller than replies of the
// master.
func TestReplyLimits(t *testing.T) {
	t.Parallel()
	const head = "<methodResponse><params><param><value><array><data><value><int>1</int></value><value>"
	const foot = "</value></data></array></value></param></params></methodResponse>"
	list := func(n int) string {
		return "</value><value><array><data>" + strings.Repeat("<value/>", n) + "</data></array>"
	}
	text := func(n int) string { return strings.Repeat("x", n) + list(0) }
	nest := func(n int) string {
		return "</value><value>" + strings.Repeat("<array><data><value>", n) + strings.Repeat("</value></data></array>", n)
	}
	address := func(m *Master, host string) error {
		_, err := m.RequestTopic(context.Background(), host, "/t")
		return err
	}
	slave := func(m *Master, host string) error {
		_, err := m.NodePublications(context.Background(), "http://"+host+"/")
		return err
	}
	params := func(m *Master, _ string) error {
		_, _, err := m.Param(context.Background(), "/p")
		return err
	}
	tests := map[string]struct {
		call    func(*Master, string) error
		reply   string
		refused bool
	}{
		"address, long":    {address, text(64 << 10), true},
		"address, many":    {address, list(256), true},
		"address, deep":    {address, nest(4), true},
		"address, strange": {address, list(200), false},
		"slave, long":      {slave, text(1 << 20), false}, // the text is left out
		"slave, many":      {slave, list(10_000), false},
		"slave, too many":  {slave, list(1 << 18), true},
		"slave, deep":      {slave, nest(20), true},
		"master, long":     {params, text(2 << 20), false},
		"master, many":     {params, list(300_000), false},
		"master, deep":     {params, nest(40), false},
		"master, too long": {params, text(16 << 20), false},
		"master, too many": {params, list(3 << 20), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // no call times out, however slow the machine is
				srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					_, _ = io.WriteString(w, head+tt.reply+foot)
				}))
				defer srv.Close()
				host := strings.TrimPrefix(srv.URL, "http://")
				m := NewMaster(srv.URL, host, "/n", endpoint.NewDialer(nil, 0), NewHangWatch(zap.NewNop(), time.Hour))
				defer m.Close()
				if err := tt.call(m, host); errors.Is(err, xmlrpc.ErrLimit) != tt.refused {
					t.Errorf("got %.200v", err)
				}
			})
		})
	}
}

// TestContactIsThatOfTheMaster: calls to other nodes, however many of them are gone, neither count as contacts with the
// master nor end its connection.
func TestContactIsThatOfTheMaster(t *testing.T) {
	t.Parallel()
	answering := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<methodResponse><params><param><value><array><data><value><int>1</int></value><value></value>"+
			"<value><int>7</int></value></data></array></value></param></params></methodResponse>")
	})
	master, node := httptest.NewServer(answering), httptest.NewServer(answering)
	defer master.Close()
	defer node.Close()
	m := NewMaster(master.URL, master.Listener.Addr().String(), "/n", endpoint.NewDialer(func(_ context.Context, host string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Name: host, IsNotFound: true}
	}, time.Minute), NewHangWatch(zap.NewNop(), time.Hour))
	defer m.Close()
	askMaster := func() {
		if pid, err := m.PID(t.Context()); pid != 7 || err != nil {
			t.Fatalf("got %d, %v", pid, err)
		}
	}
	askMaster()
	if _, err := m.Raw(t.Context(), node.URL, masterReply, "getPid"); err != nil {
		t.Fatal(err)
	}
	for n := range 1000 {
		if _, err := m.RequestTopic(t.Context(), fmt.Sprintf("gone%d:11311", n), "/t"); err == nil {
			t.Fatal("a node answers that is gone")
		}
	}
	askMaster()
	if got, want := m.LastContact(), (Contact{Dials: 1, Answers: 2}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestPathOfTheMaster: the master of stock answers calls to / and /RPC2 only, and roscpp ignores the path of the URI.
func TestPathOfTheMaster(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/RPC2" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "<methodResponse><params><param><value><array><data><value><int>1</int></value><value></value>"+
			"<value><array><data></data></array></value></data></array></value></param></params></methodResponse>")
	}))
	defer srv.Close()
	m := NewMaster(srv.URL+"/robot", srv.Listener.Addr().String(), "/n", endpoint.NewDialer(nil, 0), NewHangWatch(zap.NewNop(), time.Hour))
	defer m.Close()
	if _, err := m.PublishedTopics(t.Context()); err != nil {
		t.Error(err)
	}
	if _, _, err := m.Param(t.Context(), "/a"); err != nil {
		t.Error(err)
	}
}

// TestAccepts: a node is known not to run only if its machine refuses the connection.
func TestAccepts(t *testing.T) {
	t.Parallel()
	open := httptest.NewServer(http.NotFoundHandler())
	defer open.Close()
	shut := httptest.NewServer(http.NotFoundHandler())
	shut.Close()
	m := NewMaster("", "", "/n", endpoint.NewDialer(func(_ context.Context, host string) ([]netip.Addr, error) {
		return nil, &net.DNSError{Name: host, IsNotFound: true}
	}, time.Minute), nil)
	ended, end := context.WithCancel(t.Context())
	end()
	for name, tt := range map[string]struct {
		ctx            context.Context
		uri            string
		accepts, known bool
	}{
		"accepts":      {t.Context(), open.URL, true, true},
		"refused":      {t.Context(), shut.URL, false, true},
		"no such name": {t.Context(), "http://robot:11311/", false, false},
		"no URI":       {t.Context(), "robot", false, false},
		"no time":      {ended, open.URL, false, false},
	} {
		if accepts, known := m.Accepts(tt.ctx, tt.uri); accepts != tt.accepts || known != tt.known {
			t.Errorf("%s: accepts %v, known %v", name, accepts, known)
		}
	}
}
