// Package screen is how goplay looks in a terminal: the live screen, progress, and the summary.
package screen

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"github.com/gorosbag/gorosbag/internal/face/term/termtext"
	"github.com/gorosbag/gorosbag/internal/text/wording"
	"github.com/gorosbag/gorosbag/player/control"
	"github.com/gorosbag/gorosbag/rosbag"
)

// Printer prints the progress of goplay with the texts of stock rosbag play.
type Printer struct {
	W     io.Writer
	Lines bool          // only whole lines, because other lines come in between
	Quiet bool          // no blank lines
	Keys  bool          // there is a keyboard
	Delay time.Duration // the time of PhaseDelay

	phase control.Phase
	begun bool
	text  string // of an incomplete line
}

// Update prints what is new in s. Calls come one at a time.
func (p *Printer) Update(s control.Status) {
	if p.begun && s.Phase == p.phase {
		return
	}
	if p.begun {
		p.leave(p.phase, s.Phase)
	}
	p.begun, p.phase = true, s.Phase
	p.enter(s.Phase)
}

func (p *Printer) enter(phase control.Phase) {
	switch phase {
	case control.PhaseDelay:
		p.print(fmt.Sprintf("Waiting %g seconds after advertising topics...", p.Delay.Seconds()))
	case control.PhaseWait:
		p.print("Waiting for subscribers.\n")
	case control.PhasePlay:
		if p.Keys {
			p.blank()
			p.print("Hit space to toggle paused, or 's' to step.\n")
		}
	case control.PhaseRegister, control.PhaseKeepAlive, control.PhaseDrain, control.PhaseDone:
	}
}

func (p *Printer) leave(phase, next control.Phase) {
	switch phase {
	case control.PhaseDelay:
		p.print(" done.\n")
	case control.PhaseWait:
		if next == control.PhasePlay {
			p.print("Finished waiting for subscribers.\n")
		}
	case control.PhaseRegister, control.PhasePlay, control.PhaseKeepAlive, control.PhaseDrain,
		control.PhaseDone:
	}
}

// Done prints the end. Like stock it prints nothing after an interrupt.
func (p *Printer) Done(interrupted bool) {
	p.blank()
	if !interrupted {
		p.print("Done.\n")
	}
}

func (p *Printer) blank() {
	if !p.Quiet {
		p.print("\n")
	}
}

func (p *Printer) print(text string) {
	p.text += text
	if p.Lines && !strings.HasSuffix(text, "\n") {
		return
	}
	io.WriteString(p.W, p.text) //nolint:errcheck,gosec // a terminal that is gone must not end play
	p.text = ""
}

// Progress is stock's status line.
func Progress(s *control.Status) string {
	state, _ := playState(s)
	return fmt.Sprintf("[%-7s]  Bag Time: %d.%06d   Duration: %.6f / %.6f",
		state, s.BagTime.Sec, s.BagTime.Nsec/1000, s.Position.Seconds(), s.Length.Seconds())
}

// Summary returns the closing table of goplay.
func Summary(s *control.Summary) string {
	tab := termtext.NewTable("messages", "bytes", "subscribers", "dropped", "topic")
	for i := range s.Topics {
		t := &s.Topics[i]
		tab.Row(t.Messages, humanize.IBytes(t.Bytes), t.Subscribers, t.Dropped,
			termtext.Plain(t.Name)+" : "+termtext.Plain(t.Type))
	}
	b := strings.Builder{}
	b.WriteString(tab.Text())
	fmt.Fprintf(&b, "%s, %s, %.1f s of the bags in %.1f s", wording.Plural(s.Messages, "message"),
		humanize.IBytes(s.Bytes), s.Played.Seconds(), s.Elapsed.Seconds())
	if s.Achieved() > 0 {
		fmt.Fprintf(&b, " (rate %.3g)", s.Achieved())
	}
	if t := s.Timing; t.Messages > 0 {
		fmt.Fprintf(&b, "\nlate: median %s, 99 %% below %s, at most %s", micros(t.P50), micros(t.P99),
			micros(t.Max))
	}
	if s.Unstamped > 0 {
		fmt.Fprintf(&b, "\n%s kept the recorded stamp, because the definition does not fit",
			wording.Plural(s.Unstamped, "message"))
	}
	b.WriteString("\nlost: " + Losses(s) + "\n")
	return b.String()
}

func micros(d time.Duration) time.Duration { return d.Round(time.Microsecond) }

// damageLosses summarizes damage, read errors and topics that are left out. Data that could not be read
// may be intact, and so is a recording with topics that are no messages of ROS.
func damageLosses(all []*control.DamageError) (parts []string) {
	var kinds [3][]*control.DamageError
	for _, d := range all {
		kind := 0
		switch {
		case d.IsReadError():
			kind = 1
		case errors.Is(d, rosbag.ErrLeftOut):
			kind = 2
		}
		kinds[kind] = append(kinds[kind], d)
	}
	for kind, what := range []string{
		"in damaged places of the bags",
		"in places of the bags that could not be read",
		"of topics that are left out",
	} {
		if c := control.CountDamage(kinds[kind]); c.Places > 0 {
			parts = append(parts, fmt.Sprintf("%s %s (%d)", c.Lost(), what, c.Places))
		}
	}
	return parts
}

// appendUnserved adds the loss of subscribers that got nothing.
func appendUnserved(parts []string, that string, subscribers []string) []string {
	n := len(subscribers)
	if n == 0 {
		return parts
	}
	named := strings.Join(subscribers[:min(n, maxNamed)], ", ")
	if n > maxNamed {
		named += ", ..."
	}
	return append(parts, fmt.Sprintf("all for subscribers that %s (%d: %s)", that, n, termtext.Plain(named)))
}

// maxNamed is how many subscribers a line names.
const maxNamed = 8

// Losses lists the messages that were lost between bags and subscribers, by cause, in one
// line.
func Losses(s *control.Summary) string {
	var parts []string
	if n := s.Dropped - s.Unconverted; n > 0 {
		parts = append(parts, fmt.Sprintf("%d by full queues of slow subscribers (see --queue)", n))
	}
	if s.Unconverted > 0 {
		parts = append(parts,
			fmt.Sprintf("%d that could not be converted to what subscribers want", s.Unconverted))
	}
	for i := range s.Unplayable {
		u := &s.Unplayable[i]
		text := fmt.Sprintf("%d of %s : %s that cannot be played", u.Messages, termtext.Plain(u.Topic),
			termtext.Plain(u.Type))
		if u.Remedy != "" {
			text += " beside another type (add " + termtext.Plain(u.Remedy) + ")"
		}
		parts = append(parts, text)
	}
	parts = append(parts, damageLosses(s.Damage)...)
	if s.RebuiltIndexes > 0 {
		parts = append(parts,
			fmt.Sprintf("nothing by damaged indexes, rebuilt in %s",
				wording.Plural(s.RebuiltIndexes, "chunk")))
	}
	if s.Undelivered != nil {
		parts = append(parts, s.Undelivered.Error())
	}
	parts = appendUnserved(parts, "take UDPROS only", s.UDPOnly)
	parts = appendUnserved(parts, "no file descriptor was left for", s.Refused)
	if s.NoMaster {
		parts = append(parts, "all, for the master never answered")
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, "; ")
}
