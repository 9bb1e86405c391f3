package recorder

import (
	"github.com/gorosbag/gorosbag/internal/bags/note"
	"github.com/gorosbag/gorosbag/internal/ros/finding"
	"github.com/gorosbag/gorosbag/recorder/internal/account"
	"github.com/gorosbag/gorosbag/recorder/internal/annotations"
	"github.com/gorosbag/gorosbag/recorder/internal/bagfile"
	"github.com/gorosbag/gorosbag/recorder/internal/bagname"
	"github.com/gorosbag/gorosbag/recorder/internal/disk"
	"github.com/gorosbag/gorosbag/recorder/internal/retention"
	"github.com/gorosbag/gorosbag/recorder/internal/simtime"
	"github.com/gorosbag/gorosbag/recorder/internal/viewing"
)

// Report says when the account of a recording is written at the end of its last bag,
// as a latched diagnostic_msgs/DiagnosticArray on /gorecord/summary.
type Report = annotations.Report

// The zero value reports losses.
const (
	ReportOnLoss = annotations.ReportOnLoss
	ReportAlways = annotations.ReportAlways
	ReportNever  = annotations.ReportNever
)

// Limit says how much of some topics is recorded:
//
//	Topics  string  // a name, or a glob; a name that is not absolute matches the end of topics
//	MaxRate float64 // messages a second; zero means no limit, as in Every and Count
//	Every   int     // only each Nth message
//	Count   int     // end with the topic after this many messages
type Limit = account.Limit

// Note is a Key and a Value about a whole bag.
type Note = note.Note

// Expectation is the rate that some topics should have: Topics, a resolved name or a glob, and Range, a
// RateRange. ParseExpectation makes one.
type Expectation = finding.Expectation

// RateRange is a rate in Hz that topics should have: Least and Most.
type RateRange = finding.Range

// ParseExpectation parses TOPICS=RATE as the option --expect of gorecord, for example "/imu/*=50..200".
func ParseExpectation(text string) (Expectation, error) { return finding.Expect(text) }

// The types of Options that say which files there are, and what becomes of them.
type (
	// Output names the bags, by Template, else by Name, else by Prefix:
	//
	//	Name     string      // NAME.bag; a trailing .bag of the name is not doubled
	//	Template string      // letters of strftime, {time}, {split}, {host}: --name-template of gorecord
	//	Prefix   string      // PREFIX_<date>.bag; empty, as in the zero Output, <date>.bag
	//	Mode     fs.FileMode // of the files, regardless of the umask; zero means 0640, reduced by the umask
	//
	// Names are relative to the working directory. A bag that exists is never overwritten: Run returns an
	// error, or adds a number to the name if that comes from Template.
	Output = bagname.Output

	// Sync says when the recorder waits for the disk.
	Sync = bagfile.Sync

	// Retention says which closed files of a recording are deleted; zero fields delete none:
	//
	//	Files    int           // keep at most this many closed files
	//	Bytes    int64         // keep at most this much in closed files
	//	Age      time.Duration // delete files that were closed longer ago
	//	KeepFree int64         // delete while less than this is free on the disk
	Retention = retention.Limits
)

// The zero value is the default of the durability contract.
const (
	SyncInterval = bagfile.SyncInterval // every second or 32 MiB, beside the writing
	SyncChunk    = bagfile.SyncChunk    // after each chunk
	SyncNone     = bagfile.SyncNone     // never: the kernel decides
)

// Errors that end a recording.
var (
	// ErrNotBegun means that the recording ended before the first time of the clock, so that there is no bag.
	ErrNotBegun = simtime.ErrNoTime

	// ErrMinSpace means that the recording ended because the disk is nearly full.
	ErrMinSpace = disk.ErrMinSpace

	// ErrDiskHangs means that the recording should end, but the disk did not answer for
	// several seconds. The last file has no index. Goroutines that wait for the disk are left
	// behind, so the process should end.
	ErrDiskHangs = disk.ErrDiskHangs
)

// Tap shows the messages of a recording to live viewers. Its method Source returns what viewers can see.
type Tap = viewing.Tap

// TapOptions says what viewers are told, and how much memory they may take:
//
//	Name   string // of the source, as viewers show it
//	Memory int64  // bounds all copies of messages; zero means DefaultTapMemory
//	Graph  func(context.Context) (tcpros.SystemState, error) // asks the master; nil for no graph
type TapOptions = viewing.Options

// DefaultTapMemory is the default of TapOptions.Memory.
const DefaultTapMemory = viewing.DefaultMemory

// NewTap returns a tap for Options.Tap.
func NewTap(o TapOptions) *Tap { return viewing.New(o) }
