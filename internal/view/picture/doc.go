// Package picture makes pictures for a browser of messages with images: sensor_msgs/Image in its encodings,
// and what the transports of images send instead.
//
// It owns what an encoding means, how a range of depth becomes gray, and what a small picture says about its
// camera. Its errors can be shown in the place of the picture. It keeps nothing but what a History is given,
// starts no goroutine, and knows neither files nor the network.
//
// # Limits
//
// Messages may come from anywhere. A picture has at most 64 million pixels and 256 MiB when it is
// decoded. Its size is read and checked before anything is decoded, also that of pictures which the
// browser will decode. A raw image has to bring its data, but for a part of its last row. What is made
// for the browser has at most 4096 x 4096 pixels.
package picture

import (
	"errors"

	"github.com/gorosbag/gorosbag/internal/view/picture/internal/encoding"
)

const (
	maxPixels  = 64 << 20
	maxDecoded = 256 << 20 // bytes
)

var (
	// ErrLimit is matched by errors about a picture that is larger than the limits.
	ErrLimit = errors.New("too large to be shown")
	// ErrCorrupt is matched by errors about a message whose parts do not fit each other.
	ErrCorrupt = encoding.ErrCorrupt
	// ErrUnknown is matched by errors about an encoding that this package cannot show.
	ErrUnknown = errors.New("cannot be shown")
)
