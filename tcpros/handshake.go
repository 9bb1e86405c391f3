package tcpros

import (
	"time"
)

const handshakeTimeout = 10 * time.Second // for both headers, from the connection on
