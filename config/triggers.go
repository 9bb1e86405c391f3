package config

import "errors"

// Triggers holds the options of triggers on the content of messages.
type Triggers struct {
	SnapshotOn   []string `group:"Triggers on messages:" sep:"none" placeholder:"EXPR" help:"Take a snapshot when this expression turns true, as with --snapshot or --snapshot-beside. Expressions are those of gobag filter, over topics that they name: topic == \"/diagnostics\" && any(m.status, {.level >= 2}). This option and the next ones may be given several times."`
	MarkOn       []string `group:"Triggers on messages:" sep:"none" placeholder:"EXPR" help:"Write a mark into the bag when this expression turns true. All triggers write a mark when they fire."`
	PinOn        []string `group:"Triggers on messages:" sep:"none" placeholder:"EXPR" help:"Protect the bags of the last --pin from deletion when this expression turns true."`
	StartOn      []string `group:"Triggers on messages:" sep:"none" placeholder:"EXPR" help:"Begin to record when this expression turns true: begin as with --stopped, or with --paused."`
	StopOn       []string `group:"Triggers on messages:" sep:"none" placeholder:"EXPR" help:"End the recording when this expression turns true; with --start-on or --stopped end only the bag."`
	TriggerPause Duration `group:"Triggers on messages:" default:"10s" placeholder:"TIME" help:"A trigger that has fired does not fire again for this time (default ${default})."`
}

// checkTriggers checks the options of triggers against the others.
func (r *Record) checkTriggers() error {
	if len(r.SnapshotOn) > 0 && !r.Snapshot && !r.SnapshotBeside {
		return errors.New("--snapshot-on needs --snapshot or --snapshot-beside")
	}
	return nil
}
