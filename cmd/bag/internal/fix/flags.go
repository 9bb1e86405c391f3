package fix

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/gorosbag/gorosbag/cmd/bag/internal/job"
	"github.com/gorosbag/gorosbag/internal/bags"
	"github.com/gorosbag/gorosbag/internal/bags/definitions"
	"github.com/gorosbag/gorosbag/internal/files"
	"github.com/gorosbag/gorosbag/internal/ros/migration"
)

// Flags are the options and arguments of gobag fix.
type Flags struct {
	To        []string `name:"to" sep:"none" placeholder:"DEFS" completion-predictor:"file" help:"The wanted definitions: a folder of packages with .msg files, another recording, noetic for the types of ROS, installed for those of this machine, which is the default, or ros:///TOPIC for those that nodes use now. May be repeated; the first that knows a type counts."`
	Rename    []string `name:"rename" sep:"none" placeholder:"A/T=B/T" help:"The type A/T has become B/T. May be repeated."`
	Field     []string `name:"field" sep:"none" placeholder:"A/T.OLD=NEW" help:"The field OLD of A/T has become NEW. May be repeated."`
	Drop      []string `name:"drop" sep:"none" placeholder:"A/T.FIELD" help:"A field of A/T that is no longer there may get lost; all means every one. May be repeated."`
	Convert   []string `name:"convert" sep:"none" placeholder:"A/T.FIELD" help:"A field of A/T becomes a number that not every value fits: each is checked; all means every field. May be repeated."`
	Set       []string `name:"set" sep:"none" placeholder:"A/T.FIELD=VALUE" help:"The value of a new field of A/T, instead of zero. May be repeated."`
	DryRun    bool     `name:"dry-run" help:"Write nothing: print what would become of each definition."`
	NoPlugins bool     `short:"n" name:"noplugins" hidden:"" help:"As in rosbag fix."`
	In        string   `arg:"" name:"in" completion-predictor:"bag" help:"Recording of any format."`
	Out       string   `arg:"" name:"out" optional:"" completion-predictor:"file" help:"Bag to write; MCAP if it ends in .mcap. Not with --dry-run."`
	Rules     []string `arg:"" name:"rules" optional:"" hidden:"" help:"Rules of rosbag fix, which are not run."`
}

// Help is the long help.
func (Flags) Help() string {
	return `Messages whose definition is not the one wanted become messages of that: fields are matched
by name, in nested types, too. Another order of fields, wider numbers, new fields (which are
zero, or what --set says), T[n] that becomes T[], comments and constants need no option.
What may lose something, or may mean something else, needs one, which the error names.

  gobag fix old.bag new.bag
  gobag fix old.bag --to ~/catkin_ws/src --dry-run
  gobag fix old.bag new.bag --to ~/catkin_ws/src --to /opt/ros/noetic/share
  gobag fix old.bag new.bag --to newer.bag --set my_msgs/State.mode=3 --drop my_msgs/State.debug
  gobag fix old.bag new.bag --to ros:///scan
  gobag fix old.bag new.bag --to noetic --rename old_msgs/Imu=sensor_msgs/Imu

Without --to, the wanted definitions are those of the message packages that are installed for
Python, as in rosbag fix: source the setup file of the workspace first.

Times, their order, callerids, latching and connections stay, and so do chunks in which nothing
changes. Definitions that are missing or wrong in IN are repaired if one with their md5sum is
known. OUT appears when it is complete, and not at all if something is refused. Of a bag that
is damaged, OUT has all that gobag reindex would keep.

--set takes the time at which a message was received as the value received.

Exit code 1 says that something is refused, or an error; 3 that IN was damaged and messages
are missing. --dry-run ends with the same code as the run would.`
}

// errRules answers stock's command line.
var errRules = errors.New("rules of rosbag fix (.bmr) are programs in Python, which are not run. Most are not needed: gobag fix matches fields by name. " +
	"Name the wanted definitions with --to, if they are not those that are installed; a renamed type is --rename, a renamed field --field, a value of a new field --set")

// check answers command lines that are not complete, and those of stock.
func (f *Flags) check() error {
	isRule := func(s string) bool { return strings.HasSuffix(s, ".bmr") }
	switch {
	case isRule(f.Out) || slices.ContainsFunc(f.Rules, isRule):
		return errRules
	case len(f.Rules) > 0:
		return fmt.Errorf("%s: name one recording to read and one bag to write", f.Rules[0])
	case f.In == "-" || f.Out == "-":
		return errors.New("- is no recording here: the input is read twice, and the output appears when it is complete; name files")
	case f.Out == "" && !f.DryRun:
		return errors.New("name the bag to write, or use --dry-run")
	case f.Out != "" && f.DryRun:
		return errors.New("--dry-run writes nothing: leave out the bag to write")
	}
	return nil
}

// options translates the flags.
func (f *Flags) options() (*migration.Options, error) {
	o := &migration.Options{}
	for _, list := range []struct {
		args []string
		add  func(string) error
	}{
		{f.Rename, o.RenameType},
		{f.Field, o.RenameField},
		{f.Drop, o.Drop},
		{f.Convert, o.Convert},
		{f.Set, o.Set},
	} {
		for _, arg := range list.args {
			if err := list.add(arg); err != nil {
				return nil, err
			}
		}
	}
	return o, nil
}

// Fix carries the command out.
func (f *Flags) Fix(j *job.Job) error {
	if err := f.check(); err != nil {
		return err
	}
	o, err := f.options()
	if err != nil {
		return err
	}
	if f.Out != "" {
		if err := files.NotInput(f.Out, []string{f.In}); err != nil {
			return j.Failed(f.Out, err)
		}
	}
	places := f.To
	if len(places) == 0 {
		places = []string{definitions.InstalledName}
	}
	wanted, err := definitions.Open(j.Ctx, places,
		bags.Options{MaxChunkBytes: j.MaxChunk, UnwrapKey: bags.UnwrapKey(j.Ctx)},
		func(topic string) (definitions.Set, error) { return live(j.Ctx, topic) })
	if err != nil {
		return fmt.Errorf("--to %w", err)
	}
	run := Job{
		In: f.In, Out: f.Out, DryRun: f.DryRun, Default: len(f.To) == 0,
		Planner: NewPlanner(wanted, o),
	}
	return run.Run(j)
}
