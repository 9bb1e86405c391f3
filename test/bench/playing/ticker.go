//go:build linux

package playing

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/gorosbag/gorosbag/test/bench/child"
	"github.com/gorosbag/gorosbag/test/probe"
)

// tick measures the plain ticker at the schedule of the tape, on one link.
func (p pace) tick(ctx context.Context) (k keeping, err error) {
	ctx, cancel := context.WithTimeout(ctx, playPatience)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return k, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return k, err
	}
	defer l.Close() //nolint:errcheck // only listened on
	messages := p.topics * p.count
	period := time.Duration(float64(p.period) / float64(p.topics) / p.rate())
	cmd := exec.CommandContext(ctx, self, child.TickCommand, l.Addr().String(), strconv.Itoa(messages), period.String(), strconv.Itoa(p.size))
	if err := cmd.Start(); err != nil {
		return k, err
	}
	conn, err := l.Accept()
	if err != nil {
		return k, err
	}
	link, err := probe.NewLink(conn)
	if err != nil {
		return k, err
	}
	defer probe.Close([]*probe.Link{link})
	all, err := stamp([]*probe.Link{link}, p.size, messages)
	k.Timing = probe.TimingOf(all, 1, settled)
	err = errors.Join(err, cmd.Wait())
	k.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err == nil && k.Missed+k.Disordered > 0 {
		err = fmt.Errorf("the plain ticker sent %d messages, %d were missed", messages, k.Missed)
	}
	return k, err
}
