package service_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorosbag/gorosbag/test/integration/harness"
	"github.com/gorosbag/gorosbag/test/integration/harness/bags"
	"github.com/gorosbag/gorosbag/test/integration/harness/peers"
	"github.com/gorosbag/gorosbag/test/integration/harness/s3"
)

// storeHealth is what a recorder says of its store.
type storeHealth struct {
	t    *testing.T
	host string
}

// is waits for a state in metrics and health.
func (h storeHealth) is(state, problem string) {
	h.t.Helper()
	var health, metrics string
	defer func() {
		if h.t.Failed() {
			h.t.Logf("want %s; health:\n%s", state, health)
		}
	}()
	harness.Eventually(h.t, "the store is "+state, func() bool {
		_, _, metrics = ask(h.t, "GET", "http://"+h.host+"/metrics", "")
		code, _, text := ask(h.t, "GET", "http://"+h.host+"/healthz", "")
		health = text
		refused := strings.Contains(text, "the store has refused uploads since ")
		return strings.Contains(metrics, "\ngorecord_store_state{state=\""+state+"\"} 1\n") &&
			strings.Contains(text, `"store":{"state":"`+state+`"`) && strings.Contains(text, problem) &&
			refused == (state == "failing") && (code == http.StatusOK) == (state != "failing")
	})
	if code, _, _ := ask(h.t, "GET", "http://"+h.host+"/livez", ""); code != http.StatusOK {
		h.t.Errorf("/livez answers %d", code)
	}
}

// storeRecorder records, and uploads to url, with the variables in env.
func storeRecorder(g *harness.Graph, url string, env []string, args ...string) (*harness.Process, storeHealth) {
	g.T.Helper()
	host := "127.0.0.1:" + harness.FreePort(g.T)
	cmd := g.Command("gorecord", append([]string{"/t", "--http", host, "--upload", url}, args...)...)
	cmd.Env = append(cmd.Env, env...)
	p := g.Launch("gorecord", cmd)
	p.Printed("Recording to")
	return p, storeHealth{g.T, host}
}

// TestStoreChecked: what is wrong with a store is known before there is a bag, with its reason and
// what to do about it, and the recording begins regardless.
func TestStoreChecked(t *testing.T) {
	t.Parallel()
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	nobody := []string{"AWS_ACCESS_KEY_ID=", "AWS_SECRET_ACCESS_KEY=", "AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull}
	for _, test := range []struct {
		name, url  string
		env        []string
		state, log string
		text       string
		not        string
	}{
		{"good", s.At("robot"), s.Environment(), "ok", "The store takes uploads", "", "not checked"},
		{"wrong secret", s.At("robot"), []string{"AWS_ACCESS_KEY_ID=" + s3.User, "AWS_SECRET_ACCESS_KEY=wrong"}, "failing", "The store refuses uploads", "the secret is wrong: check AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID"},
		{"wrong key", s.At("robot"), []string{"AWS_ACCESS_KEY_ID=nobody", "AWS_SECRET_ACCESS_KEY=wrong"}, "failing", "The store refuses uploads", "the store does not know this key: check AWS_ACCESS_KEY_ID", ""},
		{"no credentials", s.At("robot"), nobody, "failing", "The store refuses uploads", "no credentials were found: set AWS_ACCESS_KEY_ID", ""},
		{"no bucket", strings.Replace(s.At("robot"), "s3://bags", "s3://nothing", 1), s.Environment(), "failing", "The store refuses uploads", "make the bucket first", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			g := g.In(t, t.TempDir())
			rec, health := storeRecorder(g, test.url, test.env, "-O", "out", "--upload-wait", "0s")
			health.is(test.state, test.text)
			rec.Printed(test.log)
			if _, err := os.Lstat(filepath.Join(s.Dir, "robot", ".gorosbag-check")); err == nil {
				t.Error("the check has left its object")
			}
			rec.Stop()
			out := rec.Out.String()
			harness.Contains(t, out, test.text)
			if test.not != "" && strings.Contains(out, test.not) || strings.Count(out, test.log) != 1 || strings.Contains(out, "SDK ") {
				t.Errorf("%q once and %q never:\n%s", test.log, test.not, out)
			}
		})
	}
}

// TestStoreAway: a store that cannot be reached degrades no health, and is checked again until it
// can be.
func TestStoreAway(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a store that fails, is slow or lies")
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	s.Kill()
	rec, health := storeRecorder(g, s.At("robot"), s.Environment(), "-O", "out")
	health.is("unreachable", "")
	rec.Printed("The store is not reachable")
	s.Start()
	health.is("ok", "")
	rec.Printed("The store takes uploads")
	rec.Stop()
}

// TestStoreNotMounted: a directory that is not there at the start, such as on a network share, does not keep the recording
// from beginning. Bags wait for it, also in the check of the configuration, and nothing is made on the disk of the system.
func TestStoreNotMounted(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	nas := filepath.Join(t.TempDir(), "nas", "bags")
	check := g.Start("gorecord", "-a", "--check-config", "--upload", "file://"+nas)
	check.Ended(0, "ok", "The directory to upload to is not there: bags stay here until it is", "no such directory: make or mount it")
	rec, health := storeRecorder(g, "file://"+nas, nil, "-O", "out", "--upload-wait", "1m")
	health.is("failing", "no such directory: make or mount it")
	peers.NewFlood(g, "/t", 50).WaitDone()
	if _, err := os.Stat(filepath.Dir(nas)); err == nil {
		t.Error("the directory was made")
	}
	if err := os.MkdirAll(nas, 0o750); err != nil {
		t.Fatal(err)
	}
	rec.Printed("The store takes uploads again")
	rec.Stop()
	harness.Contains(t, rec.Out.String(), "lost: none", "uploads: uploaded 1 file")
	if n := len(bags.Read(t, filepath.Join(nas, "out.bag"))["/t"].Messages); n != 50 {
		t.Errorf("%d of 50 messages are in the store", n)
	}
}

// TestStoreSlow: neither a slow store nor one that hangs delays the recording or its end.
func TestStoreSlow(t *testing.T) {
	t.Parallel()
	harness.Long(t, "a fault: a store that fails, is slow or lies")
	s, g := s3.New(t), harness.NewGraph(t, "gomaster")
	s.Delay(300 * time.Millisecond)
	rec, health := storeRecorder(g, s.At("robot"), s.Environment(), "-O", "slow")
	health.is("ok", "")
	rec.Stop()
	s.Freeze()
	f := peers.NewFlood(g, "/t", 100)
	rec, health = storeRecorder(g, s.At("robot"), s.Environment(), "-O", "hangs", "--upload-wait", "0s")
	health.is("unchecked", "")
	harness.Eventually(t, "the check waits", s.Waiting)
	f.WaitDone()
	rec.Stop()
	if topic := bags.Read(t, filepath.Join(g.Dir, "hangs.bag"))["/t"]; topic == nil || len(topic.Messages) != 100 {
		t.Errorf("the bag has %v", topic)
	}
}

// writeOnly is a store whose key may put objects, but neither read nor delete them.
type writeOnly struct {
	mu     sync.Mutex
	stored []string
	asked  []string // If-None-Match of each
}

// ServeHTTP implements http.Handler.
func (o *writeOnly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPut {
		w.WriteHeader(http.StatusForbidden)
		if r.Method != http.MethodHead {
			_, _ = w.Write([]byte("<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"))
		}
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	o.mu.Lock()
	defer o.mu.Unlock()
	if slices.Contains(o.stored, r.URL.Path) && r.Header.Get("If-None-Match") != "" {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	o.stored, o.asked = append(o.stored, r.URL.Path), append(o.asked, r.Header.Get("If-None-Match"))
	w.Header().Set("ETag", `"0"`)
}

// TestStoreWriteOnly: a key that may only write is not refused; what could not be checked is said,
// nothing is overwritten, and no bag is deleted here.
func TestStoreWriteOnly(t *testing.T) {
	t.Parallel()
	g := harness.NewGraph(t, "gomaster")
	fake := new(writeOnly)
	server := httptest.NewServer(fake)
	t.Cleanup(server.Close)
	url := "s3://bags/robot?endpoint=" + server.URL
	env := []string{"AWS_ACCESS_KEY_ID=a", "AWS_SECRET_ACCESS_KEY=b"}
	for _, summary := range []string{"uploads: uploaded 1 file\n", "uploads: uploaded 0 files, 1 file wait here for the next start\n"} {
		rec, health := storeRecorder(g, url, env, "-O", "out", "--upload-delete", "--upload-wait", "1m")
		health.is("ok", "")
		rec.Printed("reading it back (the key may not), deleting it (the key may not, so .gorosbag-check stays there)")
		f := peers.NewFlood(g, "/t", 10)
		f.WaitDone()
		rec.Stop()
		harness.Contains(t, rec.Out.String(), summary)
		if err := os.Remove(filepath.Join(g.Dir, "out.bag")); err != nil {
			t.Errorf("deleted here: %v", err)
		}
	}
	fake.mu.Lock()
	defer fake.mu.Unlock()
	want := "/bags/robot/.gorosbag-check , /bags/robot/out.bag *, /bags/robot/.gorosbag-check "
	var got []string
	summaries := 0
	for i, path := range fake.stored {
		if strings.HasPrefix(path, "/bags/robot/.gorosbag-catalog/out.bag-") {
			summaries++
			continue
		}
		got = append(got, path+" "+fake.asked[i])
	}
	if strings.Join(got, ", ") != want || summaries != 1 {
		t.Errorf("stored %q", fake.stored)
	}
}

// TestStoreTLS: uploads and reads over TLS trust the CA of SSL_CERT_FILE, and without it the error
// says so.
func TestStoreTLS(t *testing.T) {
	t.Parallel()
	s, ca := s3.NewTLS(t)
	g := harness.NewGraph(t, "gomaster")
	f := peers.NewFlood(g, "/t", 100)
	nowhere := filepath.Join(g.Dir, "nowhere")
	without := append(s.Environment(), "SSL_CERT_FILE="+nowhere, "SSL_CERT_DIR="+nowhere, "AWS_CA_BUNDLE=") // as in an image FROM scratch
	with := append(s.Environment(), "SSL_CERT_FILE="+ca, "SSL_CERT_DIR="+nowhere, "AWS_CA_BUNDLE=")
	const problem = "the certificate of the server is signed by a CA that is not trusted here: SSL_CERT_FILE names a file that this program cannot read"

	rec, health := storeRecorder(g, s.At("robot"), without, "-O", "out", "--upload-wait", "0s")
	health.is("failing", problem)
	f.WaitDone()
	rec.Stop()
	harness.Contains(t, rec.Out.String(), problem)

	rec, health = storeRecorder(g, s.At("robot"), with, "-O", "next", "--upload-wait", "1m") // uploads both
	health.is("ok", "")
	rec.Stop()
	harness.Contains(t, rec.Out.String(), "uploads: uploaded 2 files\n")

	for _, test := range []struct {
		env  []string
		code int
		text string
	}{{with, 0, "sound: version 2.0, 100 messages"}, {without, 1, problem}} {
		cmd := g.Command("gobag", "check", s.At("robot/out.bag"))
		cmd.Env = append(cmd.Env, test.env...)
		g.Launch("gobag", cmd).Ended(test.code, test.text)
	}
}
