package doors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/program"
	"github.com/gorosbag/gorosbag/internal/program/options"
	"github.com/gorosbag/gorosbag/internal/ros/xmlrpc"
)

// probeTimeout bounds a probe as a whole: container engines wait three seconds by default.
const probeTimeout = 2 * time.Second

// HealthcheckCommand is the first argument that makes a program probe another instance, which runs with
// the same options. Container engines need it: an image without a base has no other program.
const HealthcheckCommand = "healthcheck"

// HealthcheckHelp describes the command of a program.
func HealthcheckHelp(name string) program.Subcommand {
	return program.Subcommand{
		Name: HealthcheckCommand, Args: "[livez|readyz|healthz] [OPTIONS]",
		Help:   "Ask a running " + name + " whether it is well",
		Detail: `Takes the options of the running program on this machine, which has --http. Exit code: 0 it is well, otherwise 1.`,
	}
}

// Healthcheck probes the web server that an instance with the same options serves on this machine,
// and returns the exit code. words are the arguments that are not options; the first is HealthcheckCommand.
// err is the error of the options.
func Healthcheck(name string, o *options.Common, words []string, err error) int {
	if err == nil {
		err = probe(context.Background(), name, o.Web.Listen, o.Web.Token(), words[1:])
	}
	if err != nil {
		return (&program.Errors{W: os.Stderr, Name: name, JSON: o.Log.JSON()}).Fail(program.ExitUsage, err)
	}
	return program.ExitOK
}

// maxAnswerBytes is the number of bytes that are read of the answer to a probe.
const maxAnswerBytes = 16 << 10

// probe requests livez, readyz or healthz of the server that the program name serves at listen, which is
// HOST:PORT, on this machine; the default is livez. It returns nil if the server is healthy.
func probe(ctx context.Context, name, listen, token string, named []string) error {
	what := "livez"
	switch len(named) {
	case 0:
	case 1:
		what = named[0]
	default:
		return errors.New("healthcheck takes one of the words livez, readyz and healthz")
	}
	if !slices.Contains([]string{"livez", "readyz", "healthz"}, what) {
		return fmt.Errorf("healthcheck %q: want livez, readyz or healthz", what)
	}
	if listen == "" {
		return errors.New("healthcheck: no address: give --http or set its variable, as for the program to check")
	}
	at := web.LocalAddress(listen)
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/"+what, http.NoBody)
	if err != nil {
		return fmt.Errorf("healthcheck: %w", err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // no proxy: it is this machine
	answer, err := client.Do(r)
	if err != nil {
		return noAnswer(name, at, err)
	}
	defer answer.Body.Close() //nolint:errcheck // only read from
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	var h web.Health
	if json.NewDecoder(io.LimitReader(answer.Body, maxAnswerBytes)).Decode(&h) != nil ||
		len(h.Problems) == 0 {
		return fmt.Errorf("healthcheck: %s: %s", what, answer.Status)
	}
	return fmt.Errorf("healthcheck: %s: %s", what, strings.Join(h.Problems, "; "))
}

// noAnswer returns the error of a probe that got no answer from the address at.
func noAnswer(name, at string, err error) error {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("healthcheck: nothing listens on %s: is %s running, with --http and this address?",
			at, name)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("healthcheck: no answer from %s within %v: the program hangs, or the machine is overloaded", at, probeTimeout)
	}
	return fmt.Errorf("healthcheck: no answer from %s: %s", at, xmlrpc.Reason(err))
}
