package recorder

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"go.uber.org/zap"

	"github.com/gorosbag/gorosbag/internal/bagnote"
	"github.com/gorosbag/gorosbag/recorder/internal/intake"
	"github.com/gorosbag/gorosbag/tcpros"
)

// Where Options.Params puts the parameters and the node graph: std_msgs/String, latched,
// each with one JSON text, which rosparam load also takes.
const (
	ParamsTopic = "/gorecord/params" // the tree of parameters
	GraphTopic  = "/gorecord/graph"  // {"publishers", "subscribers": {topic: [node]}, "services": {service: [node]}, "types": {topic: type}}
)

const (
	maxParams   = 16 << 20    // bytes of one text
	paramsRetry = time.Second // between attempts to reach the master
)

// What a std_msgs/String is.
const (
	stringType       = bagnote.Type
	stringMD5        = bagnote.MD5Sum
	stringDefinition = bagnote.Definition
)

// stringOwn is the type of the texts that the recorder publishes.
var stringOwn = intake.OwnType{Name: stringType, MD5Sum: stringMD5, Definition: stringDefinition}

// stringFrame is a std_msgs/String as links carry it.
func stringFrame(text []byte) []byte {
	frame := binary.LittleEndian.AppendUint32(make([]byte, 0, 8+len(text)), uint32(4+len(text)))
	frame = binary.LittleEndian.AppendUint32(frame, uint32(len(text)))
	return append(frame, text...)
}

// storeParams asks the master for the parameters and the graph, and records both as if
// they came from a publisher. Errors are logged and cost nothing else.
func (r *session) storeParams(ctx context.Context) {
	r.store(ctx, ParamsTopic, func() (any, error) {
		value, _, err := r.Node.Master().Param(ctx, "/")
		return finite(value), err
	})
	r.store(ctx, GraphTopic, func() (any, error) {
		state, err := r.Node.Master().SystemState(ctx)
		if err != nil {
			return nil, err
		}
		list, err := r.Node.Master().TopicTypes(ctx)
		types := map[string]string{}
		for _, t := range list {
			types[t.Name] = t.Type
		}
		return map[string]any{"publishers": state.Publishers, "subscribers": state.Subscribers, "services": state.Services, "types": types}, err
	})
}

// store records on topic what ask says, as soon as the master answers.
func (r *session) store(ctx context.Context, topic string, ask func() (any, error)) {
	log := r.Log.With(zap.String("topic", topic))
	warned := false
	for {
		value, err := ask()
		if err == nil {
			if err = r.keep(topic, value); err != nil {
				log.Error("not stored in the bag", zap.Error(err))
			}
			return
		}
		if !warned && ctx.Err() == nil {
			warned = true
			log.Warn("not stored yet: the master does not say", zap.Error(err))
		}
		select {
		case <-time.After(paramsRetry):
		case <-ctx.Done():
			return
		}
	}
}

// keep hands one value to the intake, as a link does.
func (r *session) keep(topic string, value any) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return err
	}
	if text.Len() > maxParams {
		return fmt.Errorf("%d bytes, at most %d are stored", text.Len(), maxParams)
	}
	l := r.in.Links().OpenLatched(topic, stringOwn)
	deliver(l, stringFrame(bytes.TrimSpace(text.Bytes())), time.Now())
	l.Closed(nil)
	return nil
}

// largeMessage is the size beyond which a message does not go through the open chunk.
const largeMessage = 128 << 10

// deliver hands a frame to a sink in the form that suits its size.
func deliver(sink tcpros.LinkSink, frame []byte, received time.Time) {
	if len(frame) <= largeMessage {
		sink.Frames(frame, 1, received)
		return
	}
	large := sink.Large(len(frame))
	if large == nil {
		return // counted by the sink
	}
	for len(frame) > 0 {
		room := large.Room(len(frame))
		if room == nil {
			return
		}
		frame = frame[copy(room, frame):]
	}
	large.Commit(received)
}

// finite makes texts of the numbers that JSON does not have.
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
