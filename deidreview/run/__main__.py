import sys

from deidreview.run.supervisor import main

sys.exit(main())
