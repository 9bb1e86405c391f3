package main

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
)

// underTest is the name by which the test binary is a child: one for each script, which runs its gobag
// commands. A process for each command would take more time than all that the commands do.
const underTest = "gobag-of-the-test"

// order is a command for the child.
type order struct {
	Args  []string
	Dir   string
	Env   map[string]string
	Stdin string
}

// outcome is what became of it.
type outcome struct {
	Code           int
	Stdout, Stderr string
}

// obey runs the commands of a script, until it ends.
func obey() {
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var o order
		err := in.Decode(&o)
		if errors.Is(err, io.EOF) {
			return
		}
		for name, value := range o.Env {
			err = errors.Join(err, os.Setenv(name, value))
		}
		if err = errors.Join(err, os.Chdir(o.Dir)); err == nil {
			err = out.Encode(carriedOut(&o))
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func carriedOut(o *order) outcome {
	var stdout, stderr bytes.Buffer
	code := run(context.Background(), o.Args, job.NewOutput(strings.NewReader(o.Stdin), &stdout, &stderr))
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(&stderr, err)
		code = 99 // which no script wants
	}
	return outcome{code, stdout.String(), stderr.String()}
}

// child is what a script has of its child, which begins with the first command.
type child struct {
	orders   *gob.Encoder // nil before
	outcomes *gob.Decoder
	end      func() error
}

// childKey is the key of the child among the values of a script.
type childKey struct{}

func (c *child) start() error {
	cmd := exec.Command(underTest)
	var said bytes.Buffer
	cmd.Stderr = &said
	// Nothing of ROS: scripts do not depend on the machine.
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "GORACE", "GOCOVERDIR", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	in, err1 := cmd.StdinPipe()
	out, err2 := cmd.StdoutPipe()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	c.orders, c.outcomes = gob.NewEncoder(in), gob.NewDecoder(out)
	c.end = func() error {
		if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
			return fmt.Errorf("%w: %s", err, &said)
		}
		return nil
	}
	return cmd.Start()
}

// environment lists what commands find in their environment: what scripts set.
var environment = []string{"WORK", "PATH", "HOME", "TMPDIR", "TZ", "ROSBAG_GPG_PASSPHRASE", "COMP_LINE"}

// gobag runs a command in the directory of the script. Its last argument may be <FILE: standard input.
func (c *child) gobag(ts *testscript.TestScript, args []string) (r outcome) {
	if c.orders == nil {
		ts.Check(c.start())
	}
	o := order{Args: args, Dir: ts.MkAbs("."), Env: map[string]string{}}
	if n := len(args) - 1; n >= 0 && strings.HasPrefix(args[n], "<") {
		o.Args, o.Stdin = args[:n], ts.ReadFile(args[n][1:])
	}
	for _, name := range environment {
		o.Env[name] = ts.Getenv(name)
	}
	if err := errors.Join(c.orders.Encode(o), c.outcomes.Decode(&r)); err != nil {
		ts.Fatalf("gobag has crashed: %v", errors.Join(err, c.end()))
	}
	_, err1 := io.WriteString(ts.Stdout(), r.Stdout)
	_, err2 := io.WriteString(ts.Stderr(), r.Stderr)
	ts.Check(errors.Join(err1, err2))
	return r
}
