package annotations

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/tcpros"
)

// The topics of the parameters and of the graph of nodes. Each has one latched std_msgs/String with a JSON
// text; rosparam load takes that of the parameters.
const (
	// the tree of parameters.
	ParamsTopic = "/gorecord/params"
	// {"publishers", "subscribers": {topic: [node]}, "services": {service: [node]}, "types": {topic:
	// type}}.
	GraphTopic = "/gorecord/graph"
)

const (
	// MaxStored is the size in bytes of the longest text that is stored.
	MaxStored = 16 << 20

	paramsRetry = time.Second // between attempts to reach the master
)

// Params asks the master for the parameters and for the graph of nodes, and records both. Errors are only
// logged. Params returns when both are recorded, or when ctx is done.
func (w *Writer) Params(ctx context.Context, master *tcpros.Master) {
	w.Store(ctx, ParamsTopic, func() (any, error) {
		value, _, err := master.Param(ctx, "/")
		return value, err
	})
	w.Store(ctx, GraphTopic, func() (any, error) {
		state, err := master.SystemState(ctx)
		if err != nil {
			return nil, err
		}
		list, err := master.TopicTypes(ctx)
		types := map[string]string{}
		for _, t := range list {
			types[t.Name] = t.Type
		}
		return map[string]any{
			"publishers": state.Publishers, "subscribers": state.Subscribers,
			"services": state.Services, "types": types,
		}, err
	})
}

// Store records the value that ask returns on a topic. It calls ask each second until ask has no error, or
// until ctx is done.
func (w *Writer) Store(ctx context.Context, topic string, ask func() (any, error)) {
	log := w.log.With(zap.String("topic", topic))
	warned := false
	for {
		value, err := ask()
		if err == nil {
			if err = w.keep(topic, finite(value)); err != nil {
				log.Error("not stored in the bag", zap.Error(err))
			}
			return
		}
		if !warned && ctx.Err() == nil {
			warned = true
			log.Warn("not stored yet: the master does not answer", zap.Error(err))
		}
		select {
		case <-time.After(paramsRetry):
		case <-ctx.Done():
			return
		}
	}
}

// keep records one value as a latched JSON text. A text that is too long counts as lost.
func (w *Writer) keep(topic string, value any) error {
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	l := w.in.OpenLatched(topic, text, false)
	defer l.Closed(nil)
	if line.Len() > MaxStored {
		l.DropOversize()
		return fmt.Errorf("%d bytes, at most %d are stored", line.Len(), MaxStored)
	}
	tcpros.Deliver(l, TextFrame(bytes.TrimSpace(line.Bytes())), time.Now())
	return nil
}

// finite replaces the numbers that JSON cannot represent, NaN and infinities, by texts.
func finite(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	case []any:
		for i := range v {
			v[i] = finite(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = finite(v[k])
		}
	}
	return v
}
