package face

import (
	"encoding/json"
	"time"

	"github.com/gorosbag/gorosbag/internal/face/web"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/recorder/control"
)

// summaryJSON is the closing account of a recording. What the state has, too, has the same key there.
type summaryJSON struct {
	// the last bag
	File  string     `json:"file"`
	Files []fileJSON `json:"files"`
	// files before those that are listed
	Earlier  int     `json:"earlier_files"`
	Elapsed  float64 `json:"elapsed"`
	Bytes    int64   `json:"bytes"`
	Messages uint64  `json:"messages"`
	Dropped  uint64  `json:"dropped"`
	Missed   uint64  `json:"missed"`
	// what is known to be missing; empty if nothing is
	Lost string `json:"lost"`
	// what was asked for and never appeared
	Absent []string `json:"absent"`
	// why another node or the master has ended it; empty if none has
	EndedBy  string `json:"ended_by"`
	DiskFull bool   `json:"disk_full"`
	// what was wrong with topics
	Episodes []episodesJSON `json:"episodes"`
	Uploads  *uploads       `json:"uploads,omitempty"`
	Triggers []triggerJSON  `json:"triggers,omitempty"`
	Topics   []topicJSON    `json:"topics"`
}

type fileJSON struct {
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	Deleted  bool   `json:"deleted"`
	Snapshot bool   `json:"snapshot"`
}

type topicJSON struct {
	Topic      string            `json:"topic"`
	Type       string            `json:"type"`
	Publishers int               `json:"publishers"` // all that there were
	Messages   uint64            `json:"messages"`
	Bytes      uint64            `json:"bytes"`
	Dropped    uint64            `json:"dropped"`
	Causes     map[string]uint64 `json:"causes,omitempty"` // of dropped messages
	Missed     uint64            `json:"missed"`
	LeftOut    uint64            `json:"left_out"`
	Passed     uint64            `json:"passed"`
}

// SummaryJSON returns the closing account of a recording as one line. sent is what was uploaded until
// then; nil without uploads.
func SummaryJSON(sum *control.Summary, sent *control.HandoverStats) ([]byte, error) {
	s := summaryJSON{
		File: sum.File, Files: make([]fileJSON, 0, len(sum.Files)), Earlier: sum.Earlier.Files,
		Elapsed: web.Seconds(sum.Duration), Bytes: sum.Bytes,
		Messages: sum.Messages(), Dropped: sum.Dropped(), Missed: sum.Missed(), Lost: sum.Losses(),
		Absent: append([]string{}, sum.Missing...), EndedBy: sum.EndedBy, DiskFull: sum.DiskFull,
		Episodes: episodes(sum.Findings), Uploads: uploadsOf(sent, time.Now()),
		Triggers: triggers(sum.Triggers), Topics: make([]topicJSON, 0, len(sum.Topics)),
	}
	for _, f := range sum.Files {
		s.Files = append(s.Files, fileJSON(f))
	}
	for i := range sum.Topics {
		t := &sum.Topics[i]
		j := topicJSON{
			t.Topic, t.Type, len(t.Publishers) + t.Former.Count, t.Messages, t.Bytes, 0, t.Dropped,
			t.Missed(), t.LeftOut, t.Passed,
		}
		for _, n := range t.Dropped {
			j.Dropped += n
		}
		s.Topics = append(s.Topics, j)
	}
	text, err := json.Marshal(s)
	return append(wording.EscapeJSON(string(text)), '\n'), err
}
