//go:build unix

package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/pprof"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
	"github.com/gorosbag/gorosbag/tcpros/master"
)

func TestMain(m *testing.M) {
	// A lookup of a name that was given up ends when the name server answers, or never.
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net.(*Resolver).lookupIPAddr.func1"),
		goleak.IgnoreAnyFunction("net.(*Resolver).lookupIPAddr.func2"),
		goleak.IgnoreAnyFunction("net.(*Resolver).tryOneName"))
}

func env(list ...string) func(string) string {
	return func(key string) string {
		for i := 0; i < len(list); i += 2 {
			if list[i] == key {
				return list[i+1]
			}
		}
		return ""
	}
}

func TestChoosePort(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		flag    int
		uri     string
		want    string
		wantErr string
	}{
		{-1, "", "11311", ""},
		{-1, "http://robot:11411", "11411", ""},
		{-1, "http://robot:11411/", "11411", ""},
		{-1, "http://robot", "11311", ""},
		{11500, "http://robot:11411", "11500", ""},
		{0, "http://robot:11411", "0", ""},
		{65536, "", "", "out of range"},
		{-2, "", "", "out of range"},
		{-1, "robot:11311", "", "not of the form"},
		{-1, "http://robot:99999", "", "out of range"},
		{-1, "http://robot:x", "", "not of the form"},
	} {
		got, err := choosePort(tc.flag, tc.uri)
		if got != tc.want || (err == nil) != (tc.wantErr == "") || err != nil && !strings.Contains(err.Error(), tc.wantErr) {
			t.Errorf("choosePort(%d, %q) = %q, %v", tc.flag, tc.uri, got, err)
		}
	}
}

func TestRemaps(t *testing.T) {
	t.Parallel()
	args, remaps := splitRemaps([]string{"-p", "0", "__ip:=10.0.0.1", "a:=b"})
	if d := cmp.Diff([]string{"-p", "0"}, args); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(map[string]string{"__ip": "10.0.0.1", "a": "b"}, remaps); d != "" {
		t.Error(d)
	}
}

func TestLocate(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		listen string
		remaps map[string]string
		env    []string
		want   master.Location
		fails  bool
	}{
		"loopback":          {"", nil, []string{"ROS_IP", "127.0.0.1"}, master.Location{Host: "127.0.0.1", Listen: []string{"127.0.0.1"}}, false},
		"argument first":    {"", map[string]string{"__ip": "127.0.0.7"}, []string{"ROS_HOSTNAME", "127.0.0.8"}, master.Location{Host: "127.0.0.7", Listen: []string{"127.0.0.7", "127.0.0.1"}}, false},
		"name first":        {"", nil, []string{"ROS_HOSTNAME", "127.0.0.7", "ROS_IP", "127.0.0.8"}, master.Location{Host: "127.0.0.7", Listen: []string{"127.0.0.7", "127.0.0.1"}}, false},
		"foreign address":   {"", nil, []string{"ROS_IP", "192.0.2.1"}, master.Location{}, true},
		"unknown name":      {"", nil, []string{"ROS_HOSTNAME", "no-such-host.invalid"}, master.Location{}, true},
		"URI for a name":    {"", nil, []string{"ROS_HOSTNAME", "http://robot"}, master.Location{}, true},
		"listen":            {"127.0.0.1", nil, nil, master.Location{Host: "127.0.0.1", Listen: []string{"127.0.0.1"}}, false},
		"listen on all":     {"0.0.0.0", nil, []string{"ROS_HOSTNAME", "robot"}, master.Location{Host: "robot", Listen: []string{"0.0.0.0"}}, false},
		"listen behind NAT": {"127.0.0.1", nil, []string{"ROS_IP", "192.0.2.1"}, master.Location{Host: "192.0.2.1", Listen: []string{"127.0.0.1"}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := locate(t.Context(), tc.listen, tc.remaps, env(tc.env...))
			if (err != nil) != tc.fails {
				t.Fatalf("%+v, %v", got, err)
			}
			if err == nil {
				if d := cmp.Diff(tc.want, got); d != "" {
					t.Error(d)
				}
			}
		})
	}
	// Whatever this machine is called, there must be something to serve on.
	if got, err := locate(t.Context(), "", nil, env()); err != nil || len(got.Listen) == 0 || got.Host == "" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestStartErrors(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	_, port, _ := net.SplitHostPort(taken.Addr().String())
	for name, tc := range map[string]struct {
		args []string
		env  []string
		want string
	}{
		"port taken":    {[]string{"-p", port, "--listen", "127.0.0.1"}, nil, "port " + port + " is taken, perhaps by another master (choose one with -p)"},
		"port too high": {[]string{"--port=70000"}, nil, "port 70000 is out of range (0 to 65535)"},
		"no number":     {[]string{"-p", "x"}, nil, `--port: expected a valid 64 bit int but got "x"`},
		"unknown flag":  {[]string{"--bogus"}, nil, "unknown flag --bogus"},
		"extra word":    {[]string{"core"}, nil, "unexpected argument core"},
		"bad URI":       {nil, []string{"ROS_MASTER_URI", "x"}, `ROS_MASTER_URI "x" is not of the form http://host:port`},
		"foreign host":  {[]string{"-p", "0"}, []string{"ROS_IP", "192.0.2.1"}, `host "192.0.2.1" has no address of this machine (correct ROS_HOSTNAME or ROS_IP, or use --listen)`},
		"unknown bind":  {[]string{"-p", "0", "--listen", "no-such-host.invalid"}, nil, `cannot listen on no-such-host.invalid:0: host "no-such-host.invalid" is not `},
		"foreign bind":  {[]string{"-p", "0", "--listen", "192.0.2.1"}, nil, "not an address of this machine: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := run(tc.args, env(tc.env...), io.Discard, &program.Errors{W: io.Discard})
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("got %v, want %s", err, tc.want)
			}
		})
	}
	var out strings.Builder
	if err := run([]string{"--help"}, env(), &out, &program.Errors{W: io.Discard}); err != nil || !strings.Contains(out.String(), "--listen") {
		t.Errorf("help: %v, %q", err, out.String())
	}
}

// running starts the program and returns its master's URI and how it ended.
func running(t *testing.T, args ...string) (uri string, ended <-chan error) {
	t.Helper()
	r, w := io.Pipe()
	done := make(chan error, 1)
	// owner: the test; ends with the program.
	go func() {
		done <- run(append(args, "-p", "0", "__log:=x"), env("ROS_IP", "127.0.0.1"), w, &program.Errors{W: io.Discard})
		w.Close()
	}()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err, <-done)
	}
	uri, ok := strings.CutPrefix(strings.TrimSpace(line), "ROS_MASTER_URI=")
	if !ok {
		t.Fatalf("printed %q", line)
	}
	return uri, done
}

// patience bounds waits for what takes milliseconds on a machine with nothing else to do.
const patience = time.Minute

func await(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(patience):
		var stacks strings.Builder
		_ = pprof.Lookup("goroutine").WriteTo(&stacks, 2)
		t.Fatalf("does not end within %v\n%s", patience, stacks.String())
	}
}

func TestEndsOnSignal(t *testing.T) {
	// Under nohup, SIGHUP is ignored, which the program respects unless somebody handles it.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	defer signal.Stop(handled)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		uri, ended := running(t)
		hc := xmlrpc.NewHTTPClient(patience)
		got, err := xmlrpc.Call(context.Background(), hc, uri, "getPid", "/n")
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(any([]any{1, "", os.Getpid()}), got); d != "" {
			t.Error(d)
		}
		hc.CloseIdleConnections()
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		await(t, ended)
	}
}

func TestRemoteShutdown(t *testing.T) {
	uri, ended := running(t, "--remote-shutdown", "-w", strconv.Itoa(3), "-v")
	hc := xmlrpc.NewHTTPClient(patience)
	defer hc.CloseIdleConnections()
	got, err := xmlrpc.Call(t.Context(), hc, uri, "shutdown", "/n", "enough")
	if d := cmp.Diff(any([]any{1, "shutdown", 0}), got); d != "" || err != nil {
		t.Errorf("%v: %s", err, d)
	}
	await(t, ended)
}
