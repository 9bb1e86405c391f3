package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/cmd/bag/internal/page"
	"github.com/gorosbag/gorosbag/internal/face/web/webtest"
	"github.com/gorosbag/gorosbag/internal/view"
)

// viewed runs gobag view until the test ends, and returns the address of the page.
func viewed(t *testing.T, args ...string) (url string, end func() (code int, stderr string)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	var stderr bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"view"}, args...), job.NewOutput(strings.NewReader(""), w, &stderr))
		_ = w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		cancel()
		t.Fatalf("no address: %v, exit code %d, %s", err, <-code, stderr.String())
	}
	ended := false
	end = func() (int, string) {
		cancel()
		ended = true
		return <-code, stderr.String()
	}
	t.Cleanup(func() {
		if !ended {
			end()
		}
	})
	return strings.TrimSpace(line), end
}

func fetch(t *testing.T, method, url string, token ...string) (status int, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range token {
		r.Header.Set("Authorization", "Bearer "+text)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	a, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	b, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(b)
}

// TestViewCuts cuts a part of a bag, as a download and to a file: both are what gobag filter makes.
func TestViewCuts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bag, err := os.ReadFile(demoBag)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "demo.bag")
	if err := os.WriteFile(path, bag, 0o600); err != nil {
		t.Fatal(err)
	}
	url, end := viewed(t, path)
	if code, _, stderr := gobag("filter", "-s", "2", "--until", "5", path, filepath.Join(dir, "want.bag"), `topic == "/odom" or topic == "/map"`); code != 0 {
		t.Fatal(stderr)
	}
	want, err := os.ReadFile(filepath.Join(dir, "want.bag"))
	if err != nil {
		t.Fatal(err)
	}
	const part = "?from=2&to=5&topic=/odom&topic=/map"
	status, got := fetch(t, http.MethodGet, url+"api/v1/view/cut"+part)
	if status != http.StatusOK || got != string(want) {
		t.Errorf("status %d, %d bytes, want %d bytes of gobag filter", status, len(got), len(want))
	}
	for _, name := range []string{"demo_2s.bag", "demo_2s-2.bag"} {
		status, got := fetch(t, http.MethodPost, url+"api/v1/view/save"+part)
		saved, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || status != http.StatusOK || !strings.Contains(got, name) || !bytes.Equal(saved, want) {
			t.Errorf("%s: status %d, %s, %d bytes, %v", name, status, got, len(saved), err)
		}
	}
	var both sync.WaitGroup
	for range 3 { // at once
		both.Go(func() {
			if status, got := fetch(t, http.MethodPost, url+"api/v1/view/save?from=0&to=5"); status != http.StatusOK {
				t.Errorf("one of several: status %d, %s", status, got)
			}
		})
	}
	both.Wait()
	status, size := fetch(t, http.MethodGet, url+"api/v1/view/size"+part)
	if status != http.StatusOK || !strings.Contains(size, `"bytes"`) {
		t.Errorf("status %d, %s", status, size)
	}
	if code, stderr := end(); code != 0 || stderr != "" {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// TestViewToken: with a token nothing is shown without it, but for the login.
func TestViewToken(t *testing.T) {
	t.Parallel()
	url, _ := viewed(t, "--http-token", "0123456789abcdef", demoBag)
	for path, want := range map[string]int{"": 200, "api/v1/view/state": 401, "api/v1/view/message?topic=/odom&at=1": 401, "api/v1/view/cut?from=0&to=1": 401} {
		if status, body := fetch(t, http.MethodGet, url+path); status != want || strings.Contains(body, "odom") {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
}

// TestViewTokenLooks: there is a token for those who only look: it shows and downloads everything, and writes nothing.
func TestViewTokenLooks(t *testing.T) {
	t.Parallel()
	const looks = "fedcba9876543210"
	path := filepath.Join(t.TempDir(), "demo.bag")
	bag, err := os.ReadFile(demoBag)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, bag, 0o600); err != nil {
		t.Fatal(err)
	}
	url, _ := viewed(t, "--http-token", "0123456789abcdef", "--http-view-token", looks, path)
	for _, tc := range []struct {
		method, path string
		want         int
	}{
		{http.MethodGet, "state?", 200},
		{http.MethodGet, "picture?topic=/camera/image/compressed&at=1", 200},
		{http.MethodGet, "csv?from=0&to=1&f=/odom|pose.pose.position.x", 200},
		{http.MethodGet, "cut?from=0&to=1", 200}, // who sees every message has the data
		{http.MethodPost, "save?from=0&to=1", 403},
	} {
		status, body := fetch(t, tc.method, url+"api/v1/view/"+tc.path, looks)
		if status != tc.want {
			t.Errorf("%s %s: status %d, want %d, %.200s", tc.method, tc.path, status, tc.want, body)
		}
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("something was written: %v, %v", files, err)
	}
}

// TestViewPage: all that the page loads is there.
func TestViewPage(t *testing.T) {
	t.Parallel()
	webtest.CheckFiles(t, webtest.Serve(t, page.New(view.New(nil))), "internal/page/assets")
	webtest.CheckFiles(t, webtest.Serve(t, page.New(view.New(nil))), "../../internal/view/assets")
}

// TestViewDamaged: a damaged bag is shown as far as it goes, the damage is told, and the exit code is 3.
func TestViewDamaged(t *testing.T) {
	t.Parallel()
	bag, err := os.ReadFile(demoBag)
	if err != nil {
		t.Fatal(err)
	}
	url, end := viewed(t, write(t, "torn.bag", bag[:len(bag)*2/3]))
	status, body := fetch(t, http.MethodGet, url+"api/v1/view/state")
	if status != http.StatusOK || !strings.Contains(body, `"damage":[{`) || !strings.Contains(body, "/odom") {
		t.Errorf("status %d, %.500s", status, body)
	}
	if code, stderr := end(); code != 3 || !strings.Contains(stderr, "torn.bag") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}

// TestViewStopped: when a topic has stopped is told exactly, whatever the size of the chunk.
func TestViewStopped(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "stopped.bag")
	if code, _, stderr := gobag("filter", demoBag, path, `topic != "/scan" or ns % 10000000000 < 6000000000`); code != 0 {
		t.Fatal(stderr)
	}
	url, _ := viewed(t, path)
	status, body := fetch(t, http.MethodGet, url+"api/v1/view/state")
	if status != http.StatusOK || !strings.Contains(body, `"name":"/scan"`) || !strings.Contains(body, `"gaps":[[5.928,9.9922]]`) {
		t.Errorf("status %d, %s", status, body)
	}
}
