package command_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/gorosbag/gorosbag/internal/face/command"
)

// TestRun: parameters that cannot be meant are refused, with the reason, before anything is done.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		param command.Param
		given command.Params
		want  string // of the error; empty if the command is carried out
	}{
		"a switch":           {command.Param{Name: "on", Kind: command.Bool}, command.Params{"on": false}, ""},
		"neither on nor off": {command.Param{Name: "on", Kind: command.Bool}, nil, "on must be true or false"},
		"a number":           {command.Param{Name: "to", Kind: command.Number}, command.Params{"to": -1.5}, ""},
		"no number":          {command.Param{Name: "to", Kind: command.Number}, command.Params{"to": math.NaN()}, "not a number"},
		"an optional number": {command.Param{Name: "to", Kind: command.Number}, nil, ""},
		"a count":            {command.Param{Name: "n", Kind: command.Count}, command.Params{"n": math.MaxInt32}, ""},
		"no count":           {command.Param{Name: "n", Kind: command.Count}, nil, "n must be between 1 and 2147483647"},
		"too many":           {command.Param{Name: "n", Kind: command.Count, Max: 5}, command.Params{"n": 6}, "n must be between 1 and 5"},
		"a text":             {command.Param{Name: "text", Kind: command.Text}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			done := false
			c := command.Command{Params: []command.Param{tc.param}, Do: func(context.Context, command.Params) (command.Result, error) {
				done = true
				return command.Result{}, nil
			}}
			_, err := c.Run(t.Context(), tc.given)
			if tc.want == "" {
				if err != nil || !done {
					t.Errorf("%v, done: %t", err, done)
				}
				return
			}
			if err == nil || err.Error() != tc.want || command.KindOf(err) != command.Invalid || done {
				t.Errorf("%v, want %s; done: %t", err, tc.want, done)
			}
		})
	}
}

// TestKinds: a refusal keeps its reason and its kind, however it is wrapped.
func TestKinds(t *testing.T) {
	t.Parallel()
	reason := errors.New("the reason")
	err := fmt.Errorf("wrapped: %w", command.Refuse(command.Conflict, reason))
	if command.KindOf(err) != command.Conflict || !errors.Is(err, reason) || command.KindOf(reason) != command.Failed || command.Refuse(command.Conflict, nil) != nil {
		t.Errorf("%v is of kind %d", err, command.KindOf(err))
	}
}
