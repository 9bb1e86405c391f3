package wire

import (
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros/internal/names"
)

// Bounds on incomplete headers and requests of peers.
const (
	pendingBytes = 8 << 20 // bytes for all peers together
	maxPending   = 256     // connections to our server without a complete header

	// The most bytes that one read is charged: the longest header and its fields. Longer requests
	// are bounded by ServiceOptions.MaxRequestBytes.
	maxPendingRead = 2 * maxHeaderBytes

	smallRead    = 64 << 10  // bytes; real headers have up to about 50 kB, because of message definitions
	smallReserve = 512 << 10 // bytes of pendingBytes that only small reads may use

	// A read that has been charged for less than this time is not slow: when a graph starts, all
	// nodes connect at once, and their headers are complete within milliseconds.
	slowAfter = 250 * time.Millisecond
)

// errPendingDropped says that a connection was closed to free memory for others.
var errPendingDropped = errors.New("connection dropped: unfinished headers and requests of all peers hold too much memory")

// Pending accounts for the memory of incomplete input of all peers: the connection headers of
// subscribers, of service clients, of publishers and of services that we call, and requests to our
// services. Memory is charged for bytes that have arrived, not for announced ones, from the first
// byte, against one limit of 8 MiB. A part of the limit is reserved for small reads, as almost all
// reads are, and a part for the first waiting large read, so that large reads complete one after
// the other.
//
// A read that exceeds the limit waits, and the slowest connection is closed to free memory: among
// the reads that have been charged for 250 ms or longer, the read with the largest product of bytes
// and time. By this measure a header of usual size that arrives at network speed costs almost
// nothing, while the cost of a stalled header grows with time.
type Pending struct {
	log   *zap.Logger
	limit int64

	mu          sync.Mutex
	changed     sync.Cond      // bytes were released, or a read was dropped
	reads       []*PendingRead // oldest first
	held        int64          // charged bytes, including those of dropped reads that have not ended yet
	droppedHeld int64          // the bytes of dropped reads that have not ended yet
}

// PendingRead is the account of one connection while its header or request is incomplete.
type PendingRead struct {
	owner    *Pending
	conn     net.Conn
	role     string // role of the peer, for the log
	incoming bool

	// Guarded by owner.mu.
	bytes     int64
	heldSince time.Time // when bytes became positive
	waiting   bool      // waits to be charged more than smallRead bytes in all
	dropped   bool
}

// NewPending returns an empty account.
func NewPending(log *zap.Logger) *Pending {
	p := &Pending{log: log, limit: pendingBytes}
	p.changed.L = &p.mu
	return p
}

// Accept adds a connection to our server. If there are more than maxPending, Accept closes the
// oldest, so that idle connections cannot lock others out.
func (p *Pending) Accept(c net.Conn) *PendingRead {
	r := &PendingRead{owner: p, conn: c, role: "subscriber or caller of a service", incoming: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	incoming, oldest := 0, 0
	for i, o := range slices.Backward(p.reads) {
		if o.incoming && !o.dropped {
			incoming++
			oldest = i
		}
	}
	if incoming >= maxPending {
		_ = p.reads[oldest].conn.Close()
		p.reads[oldest].incoming = false // the goroutine of that read ends soon
	}
	p.reads = append(p.reads, r)
	return r
}

// Begin adds a read of another connection: of a connection that this node opened, or of a request
// of a service client.
func (p *Pending) Begin(c net.Conn, what string) *PendingRead {
	r := &PendingRead{owner: p, conn: c, role: what}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reads = append(p.reads, r)
	return r
}

// Held returns the bytes that are charged now.
func (p *Pending) Held() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.held
}

// Reserve raises the charge of r to bytes. It waits until the limit permits this, drops slow reads
// if needed, and returns errPendingDropped if r itself is dropped.
func (r *PendingRead) Reserve(bytes int64) error {
	p := r.owner
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.changed.Broadcast() // bytes were released, or another read is now the first that waits
	more := min(bytes, maxPendingRead) - r.bytes
	for more > 0 && !r.dropped && p.held+more > p.limitForLocked(r, bytes) {
		r.waiting = bytes > smallRead
		wait := slowAfter
		for dropped := true; dropped && !r.dropped &&
			p.held-p.droppedHeld+more > p.limitForLocked(r, bytes); {
			dropped, wait = p.dropSlowestLocked(time.Now())
		}
		if !r.dropped && p.held+more > p.limitForLocked(r, bytes) {
			again := time.AfterFunc(wait, p.wakeWaiters)
			p.changed.Wait()
			again.Stop()
		}
	}
	r.waiting = false
	if r.dropped {
		return errPendingDropped
	}
	if r.bytes == 0 {
		r.heldSince = time.Now()
	}
	r.bytes += more
	p.held += more
	return nil
}

// limitForLocked returns the limit on all charged bytes that applies when r asks for bytes.
func (p *Pending) limitForLocked(r *PendingRead, bytes int64) int64 {
	if bytes <= smallRead {
		return p.limit
	}
	first := slices.IndexFunc(p.reads, func(r *PendingRead) bool { return r.waiting && !r.dropped })
	if first >= 0 && p.reads[first] == r {
		return p.limit - smallReserve
	}
	return p.limit - smallReserve - maxPendingRead
}

// wakeWaiters makes waiting reads check again.
func (p *Pending) wakeWaiters() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed.Broadcast()
}

// dropSlowestLocked closes the slowest connection that holds memory. If none is slow, it returns how long
// to wait before the next check.
func (p *Pending) dropSlowestLocked(now time.Time) (dropped bool, wait time.Duration) {
	var slowest *PendingRead
	var most float64
	wait = slowAfter
	for _, r := range p.reads {
		if r.dropped || r.bytes == 0 {
			continue
		}
		age := now.Sub(r.heldSince)
		wait = min(wait, slowAfter-age)
		if cost := float64(r.bytes) * float64(age); age >= slowAfter && cost > most {
			slowest, most = r, cost
		}
	}
	if slowest == nil {
		return false, wait
	}
	slowest.dropped = true
	p.droppedHeld += slowest.bytes
	_ = slowest.conn.Close() // ends its read; End releases its memory
	p.changed.Broadcast()
	return true, slowAfter
}

// ReadError returns errPendingDropped if r was dropped, and err otherwise.
func (r *PendingRead) ReadError(err error) error {
	r.owner.mu.Lock()
	defer r.owner.mu.Unlock()
	if r.dropped {
		return errPendingDropped
	}
	return err
}

// End releases the bytes of r. Further calls have no effect.
func (r *PendingRead) End() {
	p := r.owner
	p.mu.Lock()
	i := slices.Index(p.reads, r)
	if i < 0 {
		p.mu.Unlock()
		return
	}
	p.reads = slices.Delete(p.reads, i, i+1)
	p.held -= r.bytes
	if r.dropped {
		p.droppedHeld -= r.bytes
	}
	p.changed.Broadcast()
	p.mu.Unlock()
	if r.dropped { // no lock needed: dropped does not change any more
		p.logDrop(r)
	}
}

// logDrop logs that r was dropped.
func (p *Pending) logDrop(r *PendingRead) {
	p.log.Warn("connection dropped, as unfinished connection headers and service requests of all peers hold too much memory: "+
		"find the program at this address that begins them and does not finish, and stop it or keep its machine off with a firewall",
		zap.Stringer("peer", r.conn.RemoteAddr()), zap.String("as", names.Clip(r.role)),
		zap.Int64("held", r.bytes),
		zap.Duration("after", time.Since(r.heldSince)), zap.Int64("limit", p.limit))
}

// Header reads a connection header. The bytes stay charged to r until End.
func (r *PendingRead) Header() (Header, error) {
	h, err := ReadHeaderFrom(r.conn, r.Reserve)
	if err != nil {
		return nil, r.ReadError(err)
	}
	return h, nil
}
