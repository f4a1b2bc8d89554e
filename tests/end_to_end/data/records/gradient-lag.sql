-- thalweg run gradient-lag.yaml --backend local
-- commit 133d85fc30eb, 2026-11-27, 76 s on 2 cores of Intel(R) Xeon(R) Processor @ 2.50GHz
-- made by tests/end_to_end/record.py gradient-lag
PRAGMA application_id = 1416132455;
PRAGMA user_version = 12;
BEGIN TRANSACTION;
CREATE TABLE attempt (
  id INTEGER PRIMARY KEY,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  token TEXT NOT NULL UNIQUE,
  state TEXT NOT NULL,
  backend TEXT NOT NULL,
  handle TEXT NOT NULL,
  folder TEXT NOT NULL,
  launched REAL,
  started REAL,
  ended REAL,
  nodes INTEGER NOT NULL,
  ranks INTEGER NOT NULL,
  node_list TEXT NOT NULL,
  reason TEXT NOT NULL,
  exit_code INTEGER,
  failed_rank INTEGER,
  failed_node TEXT NOT NULL,
  journal_lines INTEGER NOT NULL,
  clock INTEGER, eligible REAL, size_reason TEXT NOT NULL DEFAULT '',  -- microseconds; the zero of the times in this attempt's metric chunks
  UNIQUE (sweep, trial, attempt),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
);
INSERT INTO "attempt" VALUES(1,1,1,1,'ffcaea0e4faafde055301db6ab0ea432','finished','local','local:ffcaea0e','/recorded/home/runs/1/1/1',1.79580988276747775074e+09,1.79580988280948233596e+09,1795809888.619,1,1,'vm','',0,NULL,'',77,1795809884000000,NULL,'');
INSERT INTO "attempt" VALUES(2,1,2,1,'82d796d87d6164d251ef85ce685bb43e','finished','local','local:82d796d8','/recorded/home/runs/1/2/1',1.795809882767567873e+09,1.79580988282148241996e+09,1795809890.118,1,1,'vm','',0,NULL,'',77,1795809883000000,NULL,'');
INSERT INTO "attempt" VALUES(3,1,3,1,'15efec1fc6e0c62c3cb613175b087775','finished','local','local:15efec1f','/recorded/home/runs/1/3/1',1.79580988870856285096e+09,1.79580988870948266987e+09,1795809894.37,1,1,'vm','',0,NULL,'',77,1795809890000000,NULL,'');
INSERT INTO "attempt" VALUES(4,1,4,1,'41dab3fd4a870be4fea219cc8b2806d7','finished','local','local:41dab3fd','/recorded/home/runs/1/4/1',1.7958098902423443794e+09,1.79580989026548266409e+09,1795809897.526,1,1,'vm','',0,NULL,'',77,1795809892000000,NULL,'');
INSERT INTO "attempt" VALUES(5,1,5,1,'5ab50d6250ce96f9a84e35e830315ced','finished','local','local:5ab50d62','/recorded/home/runs/1/5/1',1.79580989439079427723e+09,1.79580989442548274994e+09,1795809900.109,1,1,'vm','',0,NULL,'',77,1795809895000000,NULL,'');
INSERT INTO "attempt" VALUES(6,1,6,1,'ce8721ad306b37e0cdaa7c3e18c469a1','finished','local','local:ce8721ad','/recorded/home/runs/1/6/1',1.79580989770467734341e+09,1.79580989772148299221e+09,1795809907.747,1,1,'vm','',0,NULL,'',77,1795809899000000,NULL,'');
INSERT INTO "attempt" VALUES(7,1,7,1,'273f21e3837d44c8f8cbb169a450be40','finished','local','local:273f21e3','/recorded/home/runs/1/7/1',1.79580990016123294827e+09,1.79580990025348305699e+09,1795809904.339,1,1,'vm','',0,NULL,'',77,1795809901000000,NULL,'');
INSERT INTO "attempt" VALUES(8,1,8,1,'31cc40a1c8bc421d64cd0d982e31a90e','finished','local','local:31cc40a1','/recorded/home/runs/1/8/1',1.79580990451111841207e+09,1.79580990452948307993e+09,1795809907.823,1,1,'vm','',0,NULL,'',77,1795809905000000,NULL,'');
INSERT INTO "attempt" VALUES(9,1,9,1,'591e33bbdaed4119b5994406a554464c','finished','local','local:591e33bb','/recorded/home/runs/1/9/1',1.7958099079429888725e+09,1.79580990795748329162e+09,1795809913.89,1,1,'vm','',0,NULL,'',77,1795809909000000,NULL,'');
INSERT INTO "attempt" VALUES(10,1,10,1,'8abef638a9d48693ecd121da270d71d9','finished','local','local:8abef638','/recorded/home/runs/1/10/1',1.79580990794322133065e+09,1.79580990796148324013e+09,1795809912.197,1,1,'vm','',0,NULL,'',77,1795809909000000,NULL,'');
INSERT INTO "attempt" VALUES(11,1,11,1,'b9bc79741a3c8a3badff275e75c615d0','finished','local','local:b9bc7974','/recorded/home/runs/1/11/1',1.79580991246134877206e+09,1.795809912477483511e+09,1795809916.356,1,1,'vm','',0,NULL,'',77,1795809914000000,NULL,'');
INSERT INTO "attempt" VALUES(12,1,12,1,'314aa1d416b7bbb3bf1565802e55640a','finished','local','local:314aa1d4','/recorded/home/runs/1/12/1',1.79580991402308177951e+09,1.79580991404948353768e+09,1795809920.643,1,1,'vm','',0,NULL,'',77,1795809916000000,NULL,'');
INSERT INTO "attempt" VALUES(13,1,13,1,'d01aa9354c900f6664ab972fc50d7955','finished','local','local:d01aa935','/recorded/home/runs/1/13/1',1.79580991659468173983e+09,1.79580991661748361589e+09,1795809923.425,1,1,'vm','',0,NULL,'',77,1795809919000000,NULL,'');
INSERT INTO "attempt" VALUES(14,1,14,1,'1aebc55e2c864617e08a5af5950b3459','finished','local','local:1aebc55e','/recorded/home/runs/1/14/1',1.79580992079504919052e+09,1.79580992083348369597e+09,1795809927.416,1,1,'vm','',0,NULL,'',77,1795809921000000,NULL,'');
INSERT INTO "attempt" VALUES(15,1,15,1,'cd6d4689d77cd5aec87d3c681c5c4f58','finished','local','local:cd6d4689','/recorded/home/runs/1/15/1',1.79580992360716152188e+09,1.79580992362733435634e+09,1795809929.02,1,1,'vm','',0,NULL,'',77,1795809926000000,NULL,'');
INSERT INTO "attempt" VALUES(16,1,16,1,'155102af069965c0ac0942e13f08cefd','finished','local','local:155102af','/recorded/home/runs/1/16/1',1.79580992764671516425e+09,1.79580992764948391918e+09,1795809932.741,1,1,'vm','',0,NULL,'',77,1795809929000000,NULL,'');
INSERT INTO "attempt" VALUES(17,1,17,1,'3e51f7f79cb2f1e493f1aca469b9373d','finished','local','local:3e51f7f7','/recorded/home/runs/1/17/1',1.79580992918697118754e+09,1.79580992922148394586e+09,1795809934.696,1,1,'vm','',0,NULL,'',77,1795809931000000,NULL,'');
INSERT INTO "attempt" VALUES(18,1,18,1,'d17e5fc7385eeab9accc82057f920894','finished','local','local:d17e5fc7','/recorded/home/runs/1/18/1',1.79580993306393694878e+09,1.7958099331934840679e+09,1795809940.068,1,1,'vm','',0,NULL,'',77,1795809934000000,NULL,'');
INSERT INTO "attempt" VALUES(19,1,19,1,'4b8eee386199769d4ed1d85979cb0589','finished','local','local:4b8eee38','/recorded/home/runs/1/19/1',1.79580993473879814144e+09,1.7958099347534842491e+09,1795809940.347,1,1,'vm','',0,NULL,'',77,1795809937000000,NULL,'');
INSERT INTO "attempt" VALUES(20,1,20,1,'2b36675f575ebdc4b06c1fbe12d6a24d','finished','local','local:2b36675f','/recorded/home/runs/1/20/1',1.79580994027610754961e+09,1.7958099403214843273e+09,1795809944.111,1,1,'vm','',0,NULL,'',77,1795809941000000,NULL,'');
INSERT INTO "attempt" VALUES(21,1,21,1,'c02f72f4d8509c9329f30f0573033382','finished','local','local:c02f72f4','/recorded/home/runs/1/21/1',1.79580994059511470789e+09,1.79580994059748435022e+09,1795809946.09,1,1,'vm','',0,NULL,'',77,1795809941000000,NULL,'');
INSERT INTO "attempt" VALUES(22,1,22,1,'6bdb4747d28c0f402a01bcb32aaa1889','finished','local','local:6bdb4747','/recorded/home/runs/1/22/1',1.7958099441468954086e+09,1.79580994419748449326e+09,1795809953.953,1,1,'vm','',0,NULL,'',77,1795809947000000,NULL,'');
INSERT INTO "attempt" VALUES(23,1,23,1,'78678088b01c9f424e043f15e3b59487','finished','local','local:78678088','/recorded/home/runs/1/23/1',1.79580994665710830691e+09,1.79580994680148458477e+09,1795809951.743,1,1,'vm','',0,NULL,'',77,1795809948000000,NULL,'');
INSERT INTO "attempt" VALUES(24,1,24,1,'954efd268d6965fabed1ce218971df4f','finished','local','local:954efd26','/recorded/home/runs/1/24/1',1.79580995198415970803e+09,1.79580995199748492236e+09,1795809959.034,1,1,'vm','',0,NULL,'',77,1795809954000000,NULL,'');
CREATE TABLE attempt_start (
  attempt INTEGER PRIMARY KEY REFERENCES attempt (id) ON DELETE CASCADE,
  record TEXT NOT NULL
, ranks TEXT);
CREATE TABLE event (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  time REAL NOT NULL,
  kind TEXT NOT NULL,
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  data TEXT NOT NULL
);
INSERT INTO "event" VALUES(1,1.79580988275513029096e+09,'submitted',1,0,0,'{"backend":"local","directory":"/recorded","keep":{"checkpoints":"all","points":0,"trials":0},"limits":{"max_nodes_in_flight":2,"max_retries":2,"node_hours":0.0},"metric":{"goal":"maximize","name":"val/accuracy"},"shapes":[{"count":24,"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}],"slurm":{}}');
INSERT INTO "event" VALUES(2,1.79580988276747775074e+09,'launching',1,1,1,'{"backend":"local","folder":"/recorded/home/runs/1/1/1","nodes":1,"push_secret":"left out 2","ranks":1,"token":"ffcaea0e4faafde055301db6ab0ea432"}');
INSERT INTO "event" VALUES(3,1.795809882767567873e+09,'launching',1,2,1,'{"backend":"local","folder":"/recorded/home/runs/1/2/1","nodes":1,"push_secret":"left out 3","ranks":1,"token":"82d796d87d6164d251ef85ce685bb43e"}');
INSERT INTO "event" VALUES(4,1.79580988278295135499e+09,'recorded',1,1,1,'{"handle":"local:ffcaea0e"}');
INSERT INTO "event" VALUES(5,1.79580988280694341663e+09,'recorded',1,2,1,'{"handle":"local:82d796d8"}');
INSERT INTO "event" VALUES(6,1.79580988281395578388e+09,'released',1,1,1,'{}');
INSERT INTO "event" VALUES(7,1.79580988282679843907e+09,'released',1,2,1,'{}');
INSERT INTO "event" VALUES(8,1.79580988307744097705e+09,'running',1,1,1,'{"node_list":"vm","started":1795809882.8094823}');
INSERT INTO "event" VALUES(9,1.79580988308144807812e+09,'running',1,2,1,'{"node_list":"vm","started":1795809882.8214824}');
INSERT INTO "event" VALUES(10,1.79580988379050469393e+09,'note',1,2,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 0 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(11,1.79580988403912782669e+09,'note',1,1,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 0 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(12,1.79580988870765662188e+09,'ended',1,1,1,'{"cause":"finished","ended":1795809888.619,"exit_code":0,"node_list":"vm","node_seconds":5.8095176219940186,"reason":"","step":1287}');
INSERT INTO "event" VALUES(13,1.79580988870807266234e+09,'trial_ended',1,1,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(14,1.79580988870856285096e+09,'launching',1,3,1,'{"backend":"local","folder":"/recorded/home/runs/1/3/1","nodes":1,"push_secret":"left out 14","ranks":1,"token":"15efec1fc6e0c62c3cb613175b087775"}');
INSERT INTO "event" VALUES(15,1.79580988870984983437e+09,'recorded',1,3,1,'{"handle":"local:15efec1f"}');
INSERT INTO "event" VALUES(16,1.79580988871069860456e+09,'released',1,3,1,'{}');
INSERT INTO "event" VALUES(17,1.7958098889613797665e+09,'running',1,3,1,'{"node_list":"vm","started":1795809888.7094827}');
INSERT INTO "event" VALUES(18,1.79580989009269452092e+09,'note',1,3,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 0 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(19,1.79580989022559905053e+09,'ended',1,2,1,'{"cause":"finished","ended":1795809890.118,"exit_code":0,"node_list":"vm","node_seconds":7.296517610549927,"reason":"","step":1287}');
INSERT INTO "event" VALUES(20,1.7958098902348895073e+09,'trial_ended',1,2,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(21,1.7958098902423443794e+09,'launching',1,4,1,'{"backend":"local","folder":"/recorded/home/runs/1/4/1","nodes":1,"push_secret":"left out 21","ranks":1,"token":"41dab3fd4a870be4fea219cc8b2806d7"}');
INSERT INTO "event" VALUES(22,1.79580989025241136549e+09,'recorded',1,4,1,'{"handle":"local:41dab3fd"}');
INSERT INTO "event" VALUES(23,1.79580989025751972193e+09,'released',1,4,1,'{}');
INSERT INTO "event" VALUES(24,1.79580989050935578349e+09,'running',1,4,1,'{"node_list":"vm","started":1795809890.2654827}');
INSERT INTO "event" VALUES(25,1.79580989182258439059e+09,'note',1,4,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 0 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(26,1.79580989437823605541e+09,'ended',1,3,1,'{"cause":"finished","ended":1795809894.37,"exit_code":0,"node_list":"vm","node_seconds":5.66051721572876,"reason":"","step":1287}');
INSERT INTO "event" VALUES(27,1.79580989438694787023e+09,'trial_ended',1,3,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(28,1.79580989439079427723e+09,'launching',1,5,1,'{"backend":"local","folder":"/recorded/home/runs/1/5/1","nodes":1,"push_secret":"left out 28","ranks":1,"token":"5ab50d6250ce96f9a84e35e830315ced"}');
INSERT INTO "event" VALUES(29,1.79580989440843844418e+09,'recorded',1,5,1,'{"handle":"local:5ab50d62"}');
INSERT INTO "event" VALUES(30,1.79580989441983127595e+09,'released',1,5,1,'{}');
INSERT INTO "event" VALUES(31,1.79580989467901015275e+09,'running',1,5,1,'{"node_list":"vm","started":1795809894.4254827}');
INSERT INTO "event" VALUES(32,1.79580989555725979807e+09,'note',1,5,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 0 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(33,1.79580989770332241054e+09,'ended',1,4,1,'{"cause":"finished","ended":1795809897.526,"exit_code":0,"node_list":"vm","node_seconds":7.260517358779907,"reason":"","step":1287}');
INSERT INTO "event" VALUES(34,1795809897.70402,'trial_ended',1,4,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(35,1.79580989770467734341e+09,'launching',1,6,1,'{"backend":"local","folder":"/recorded/home/runs/1/6/1","nodes":1,"push_secret":"left out 35","ranks":1,"token":"ce8721ad306b37e0cdaa7c3e18c469a1"}');
INSERT INTO "event" VALUES(36,1.79580989770788168905e+09,'recorded',1,6,1,'{"handle":"local:ce8721ad"}');
INSERT INTO "event" VALUES(37,1.79580989771498107914e+09,'released',1,6,1,'{}');
INSERT INTO "event" VALUES(38,1.79580989797496366503e+09,'running',1,6,1,'{"node_list":"vm","started":1795809897.721483}');
INSERT INTO "event" VALUES(39,1.7958098994968168735e+09,'note',1,6,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 0 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(40,1.79580990015882802014e+09,'ended',1,5,1,'{"cause":"finished","ended":1795809900.109,"exit_code":0,"node_list":"vm","node_seconds":5.683517217636108,"reason":"","step":1287}');
INSERT INTO "event" VALUES(41,1.79580990015967893605e+09,'trial_ended',1,5,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(42,1.79580990016123294827e+09,'launching',1,7,1,'{"backend":"local","folder":"/recorded/home/runs/1/7/1","nodes":1,"push_secret":"left out 42","ranks":1,"token":"273f21e3837d44c8f8cbb169a450be40"}');
INSERT INTO "event" VALUES(43,1.7958099001631324291e+09,'recorded',1,7,1,'{"handle":"local:273f21e3"}');
INSERT INTO "event" VALUES(44,1.79580990016709899897e+09,'released',1,7,1,'{}');
INSERT INTO "event" VALUES(45,1.79580990041812849043e+09,'running',1,7,1,'{"node_list":"vm","started":1795809900.253483}');
INSERT INTO "event" VALUES(46,1.7958099018835041523e+09,'note',1,7,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 1 step late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(47,1.79580990450621366498e+09,'ended',1,7,1,'{"cause":"finished","ended":1795809904.339,"exit_code":0,"node_list":"vm","node_seconds":4.085516929626465,"reason":"","step":1287}');
INSERT INTO "event" VALUES(48,1.79580990450682115551e+09,'trial_ended',1,7,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(49,1.79580990451111841207e+09,'launching',1,8,1,'{"backend":"local","folder":"/recorded/home/runs/1/8/1","nodes":1,"push_secret":"left out 49","ranks":1,"token":"31cc40a1c8bc421d64cd0d982e31a90e"}');
INSERT INTO "event" VALUES(50,1.79580990452025675771e+09,'recorded',1,8,1,'{"handle":"local:31cc40a1"}');
INSERT INTO "event" VALUES(51,1.79580990452687883377e+09,'released',1,8,1,'{}');
INSERT INTO "event" VALUES(52,1.79580990477779746058e+09,'running',1,8,1,'{"node_list":"vm","started":1795809904.529483}');
INSERT INTO "event" VALUES(53,1.79580990569624900816e+09,'note',1,8,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 1 step late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(54,1.79580990794090199474e+09,'ended',1,6,1,'{"cause":"finished","ended":1795809907.747,"exit_code":0,"node_list":"vm","node_seconds":10.025516986846924,"reason":"","step":1287}');
INSERT INTO "event" VALUES(55,1.79580990794158959393e+09,'ended',1,8,1,'{"cause":"finished","ended":1795809907.823,"exit_code":0,"node_list":"vm","node_seconds":3.2935168743133545,"reason":"","step":1287}');
INSERT INTO "event" VALUES(56,1.79580990794190287589e+09,'trial_ended',1,6,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(57,1.79580990794190645219e+09,'trial_ended',1,8,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(58,1.7958099079429888725e+09,'launching',1,9,1,'{"backend":"local","folder":"/recorded/home/runs/1/9/1","nodes":1,"push_secret":"left out 58","ranks":1,"token":"591e33bbdaed4119b5994406a554464c"}');
INSERT INTO "event" VALUES(59,1.79580990794322133065e+09,'launching',1,10,1,'{"backend":"local","folder":"/recorded/home/runs/1/10/1","nodes":1,"push_secret":"left out 59","ranks":1,"token":"8abef638a9d48693ecd121da270d71d9"}');
INSERT INTO "event" VALUES(60,1795809907.95088,'recorded',1,9,1,'{"handle":"local:591e33bb"}');
INSERT INTO "event" VALUES(61,1.79580990795287275311e+09,'recorded',1,10,1,'{"handle":"local:8abef638"}');
INSERT INTO "event" VALUES(62,1.79580990795404028892e+09,'released',1,9,1,'{}');
INSERT INTO "event" VALUES(63,1.79580990796308469768e+09,'released',1,10,1,'{}');
INSERT INTO "event" VALUES(64,1.79580990822617578509e+09,'running',1,9,1,'{"node_list":"vm","started":1795809907.9574833}');
INSERT INTO "event" VALUES(65,1.79580990823487210276e+09,'running',1,10,1,'{"node_list":"vm","started":1795809907.9614832}');
INSERT INTO "event" VALUES(66,1795809908.9908,'note',1,9,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 1 step late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(67,1.79580990904948592187e+09,'note',1,10,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 1 step late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(68,1.79580991245645594598e+09,'ended',1,10,1,'{"cause":"finished","ended":1795809912.197,"exit_code":0,"node_list":"vm","node_seconds":4.235516786575317,"reason":"","step":1287}');
INSERT INTO "event" VALUES(69,1.79580991245729541783e+09,'trial_ended',1,10,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(70,1.79580991246134877206e+09,'launching',1,11,1,'{"backend":"local","folder":"/recorded/home/runs/1/11/1","nodes":1,"push_secret":"left out 70","ranks":1,"token":"b9bc79741a3c8a3badff275e75c615d0"}');
INSERT INTO "event" VALUES(71,1.79580991247243213653e+09,'recorded',1,11,1,'{"handle":"local:b9bc7974"}');
INSERT INTO "event" VALUES(72,1.79580991248250770569e+09,'released',1,11,1,'{}');
INSERT INTO "event" VALUES(73,1.79580991274268960949e+09,'running',1,11,1,'{"node_list":"vm","started":1795809912.4774835}');
INSERT INTO "event" VALUES(74,1.79580991402092289923e+09,'ended',1,9,1,'{"cause":"finished","ended":1795809913.89,"exit_code":0,"node_list":"vm","node_seconds":5.932516813278198,"reason":"","step":1287}');
INSERT INTO "event" VALUES(75,1.79580991402148556707e+09,'trial_ended',1,9,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(76,1.79580991402308177951e+09,'launching',1,12,1,'{"backend":"local","folder":"/recorded/home/runs/1/12/1","nodes":1,"push_secret":"left out 76","ranks":1,"token":"314aa1d416b7bbb3bf1565802e55640a"}');
INSERT INTO "event" VALUES(77,1.79580991404294800753e+09,'recorded',1,12,1,'{"handle":"local:314aa1d4"}');
INSERT INTO "event" VALUES(78,1.79580991405365324024e+09,'released',1,12,1,'{}');
INSERT INTO "event" VALUES(79,1.79580991404796195035e+09,'note',1,11,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 1 step late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(80,1.79580991431507325174e+09,'running',1,12,1,'{"node_list":"vm","started":1795809914.0494835}');
INSERT INTO "event" VALUES(81,1.79580991605464196205e+09,'note',1,12,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 1 step late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(82,1795809916.58163,'ended',1,11,1,'{"cause":"finished","ended":1795809916.356,"exit_code":0,"node_list":"vm","node_seconds":3.878516435623169,"reason":"","step":1287}');
INSERT INTO "event" VALUES(83,1.79580991658919239041e+09,'trial_ended',1,11,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(84,1.79580991659468173983e+09,'launching',1,13,1,'{"backend":"local","folder":"/recorded/home/runs/1/13/1","nodes":1,"push_secret":"left out 84","ranks":1,"token":"d01aa9354c900f6664ab972fc50d7955"}');
INSERT INTO "event" VALUES(85,1.79580991661256408691e+09,'recorded',1,13,1,'{"handle":"local:d01aa935"}');
INSERT INTO "event" VALUES(86,1.7958099166231780052e+09,'released',1,13,1,'{}');
INSERT INTO "event" VALUES(87,1.7958099168750593662e+09,'running',1,13,1,'{"node_list":"vm","started":1795809916.6174836}');
INSERT INTO "event" VALUES(88,1.79580991895266938208e+09,'note',1,13,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 2 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(89,1.79580992078221631045e+09,'ended',1,12,1,'{"cause":"finished","ended":1795809920.643,"exit_code":0,"node_list":"vm","node_seconds":6.5935163497924805,"reason":"","step":1287}');
INSERT INTO "event" VALUES(90,1.79580992078283524513e+09,'trial_ended',1,12,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(91,1.79580992079504919052e+09,'launching',1,14,1,'{"backend":"local","folder":"/recorded/home/runs/1/14/1","nodes":1,"push_secret":"left out 91","ranks":1,"token":"1aebc55e2c864617e08a5af5950b3459"}');
INSERT INTO "event" VALUES(92,1.79580992081493425373e+09,'recorded',1,14,1,'{"handle":"local:1aebc55e"}');
INSERT INTO "event" VALUES(93,1.79580992082375741e+09,'released',1,14,1,'{}');
INSERT INTO "event" VALUES(94,1.79580992107711553571e+09,'running',1,14,1,'{"node_list":"vm","started":1795809920.8334837}');
INSERT INTO "event" VALUES(95,1.79580992186689877504e+09,'note',1,14,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 2 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(96,1.79580992359595441819e+09,'ended',1,13,1,'{"cause":"finished","ended":1795809923.425,"exit_code":0,"node_list":"vm","node_seconds":6.80751633644104,"reason":"","step":1287}');
INSERT INTO "event" VALUES(97,1.79580992359886026377e+09,'trial_ended',1,13,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(98,1.79580992360716152188e+09,'launching',1,15,1,'{"backend":"local","folder":"/recorded/home/runs/1/15/1","nodes":1,"push_secret":"left out 98","ranks":1,"token":"cd6d4689d77cd5aec87d3c681c5c4f58"}');
INSERT INTO "event" VALUES(99,1.79580992361953711506e+09,'recorded',1,15,1,'{"handle":"local:cd6d4689"}');
INSERT INTO "event" VALUES(100,1.79580992362047314639e+09,'released',1,15,1,'{}');
INSERT INTO "event" VALUES(101,1.79580992387863111491e+09,'running',1,15,1,'{"node_list":"vm","started":1795809923.6273344}');
INSERT INTO "event" VALUES(102,1.79580992601159310337e+09,'note',1,15,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 2 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(103,1.79580992764446115495e+09,'ended',1,14,1,'{"cause":"finished","ended":1795809927.416,"exit_code":0,"node_list":"vm","node_seconds":6.582516193389893,"reason":"","step":1287}');
INSERT INTO "event" VALUES(104,1.79580992764491915699e+09,'trial_ended',1,14,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(105,1.79580992764671516425e+09,'launching',1,16,1,'{"backend":"local","folder":"/recorded/home/runs/1/16/1","nodes":1,"push_secret":"left out 105","ranks":1,"token":"155102af069965c0ac0942e13f08cefd"}');
INSERT INTO "event" VALUES(106,1.79580992764785170551e+09,'recorded',1,16,1,'{"handle":"local:155102af"}');
INSERT INTO "event" VALUES(107,1.79580992765174984934e+09,'released',1,16,1,'{}');
INSERT INTO "event" VALUES(108,1.79580992796621322638e+09,'running',1,16,1,'{"node_list":"vm","started":1795809927.649484}');
INSERT INTO "event" VALUES(109,1.79580992918316292763e+09,'ended',1,15,1,'{"cause":"finished","ended":1795809929.02,"exit_code":0,"node_list":"vm","node_seconds":5.39266562461853,"reason":"","step":1287}');
INSERT INTO "event" VALUES(110,1795809929.18379,'trial_ended',1,15,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(111,1.79580992918697118754e+09,'launching',1,17,1,'{"backend":"local","folder":"/recorded/home/runs/1/17/1","nodes":1,"push_secret":"left out 111","ranks":1,"token":"3e51f7f79cb2f1e493f1aca469b9373d"}');
INSERT INTO "event" VALUES(112,1.79580992921094584465e+09,'recorded',1,17,1,'{"handle":"local:3e51f7f7"}');
INSERT INTO "event" VALUES(113,1.79580992922282075881e+09,'released',1,17,1,'{}');
INSERT INTO "event" VALUES(114,1.7958099292955377102e+09,'note',1,16,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 2 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(115,1.79580992955948853494e+09,'running',1,17,1,'{"node_list":"vm","started":1795809929.221484}');
INSERT INTO "event" VALUES(116,1.79580993113915228847e+09,'note',1,17,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 2 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(117,1.79580993297223782544e+09,'ended',1,16,1,'{"cause":"finished","ended":1795809932.741,"exit_code":0,"node_list":"vm","node_seconds":5.091516017913818,"reason":"","step":1287}');
INSERT INTO "event" VALUES(118,1.79580993306323742869e+09,'trial_ended',1,16,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(119,1.79580993306393694878e+09,'launching',1,18,1,'{"backend":"local","folder":"/recorded/home/runs/1/18/1","nodes":1,"push_secret":"left out 119","ranks":1,"token":"d17e5fc7385eeab9accc82057f920894"}');
INSERT INTO "event" VALUES(120,1.79580993306515598298e+09,'recorded',1,18,1,'{"handle":"local:d17e5fc7"}');
INSERT INTO "event" VALUES(121,1.79580993319755935671e+09,'released',1,18,1,'{}');
INSERT INTO "event" VALUES(122,1.79580993346325826645e+09,'running',1,18,1,'{"node_list":"vm","started":1795809933.193484}');
INSERT INTO "event" VALUES(123,1.79580993473093175885e+09,'ended',1,17,1,'{"cause":"finished","ended":1795809934.696,"exit_code":0,"node_list":"vm","node_seconds":5.474516153335571,"reason":"","step":1287}');
INSERT INTO "event" VALUES(124,1.79580993473486232752e+09,'trial_ended',1,17,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(125,1.79580993473879814144e+09,'launching',1,19,1,'{"backend":"local","folder":"/recorded/home/runs/1/19/1","nodes":1,"push_secret":"left out 125","ranks":1,"token":"4b8eee386199769d4ed1d85979cb0589"}');
INSERT INTO "event" VALUES(126,1.7958099347510561943e+09,'recorded',1,19,1,'{"handle":"local:4b8eee38"}');
INSERT INTO "event" VALUES(127,1.79580993475540947918e+09,'released',1,19,1,'{}');
INSERT INTO "event" VALUES(128,1.79580993473920631406e+09,'note',1,18,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 2 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(129,1.79580993504726219175e+09,'running',1,19,1,'{"node_list":"vm","started":1795809934.7534842}');
INSERT INTO "event" VALUES(130,1.79580993779570603375e+09,'note',1,19,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 4 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(131,1.79580994027361202239e+09,'ended',1,18,1,'{"cause":"finished","ended":1795809940.068,"exit_code":0,"node_list":"vm","node_seconds":6.874516010284424,"reason":"","step":1287}');
INSERT INTO "event" VALUES(132,1.79580994027559208868e+09,'trial_ended',1,18,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(133,1.79580994027610754961e+09,'launching',1,20,1,'{"backend":"local","folder":"/recorded/home/runs/1/20/1","nodes":1,"push_secret":"left out 133","ranks":1,"token":"2b36675f575ebdc4b06c1fbe12d6a24d"}');
INSERT INTO "event" VALUES(134,1.79580994030696058276e+09,'recorded',1,20,1,'{"handle":"local:2b36675f"}');
INSERT INTO "event" VALUES(135,1.79580994031715893742e+09,'released',1,20,1,'{}');
INSERT INTO "event" VALUES(136,1.79580994057353925705e+09,'ended',1,19,1,'{"cause":"finished","ended":1795809940.347,"exit_code":0,"node_list":"vm","node_seconds":5.593515634536743,"reason":"","step":1287}');
INSERT INTO "event" VALUES(137,1.79580994057433128352e+09,'running',1,20,1,'{"node_list":"vm","started":1795809940.3214843}');
INSERT INTO "event" VALUES(138,1.79580994058287358276e+09,'trial_ended',1,19,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(139,1.79580994059511470789e+09,'launching',1,21,1,'{"backend":"local","folder":"/recorded/home/runs/1/21/1","nodes":1,"push_secret":"left out 139","ranks":1,"token":"c02f72f4d8509c9329f30f0573033382"}');
INSERT INTO "event" VALUES(140,1.79580994059890651699e+09,'recorded',1,21,1,'{"handle":"local:c02f72f4"}');
INSERT INTO "event" VALUES(141,1.79580994060246467583e+09,'released',1,21,1,'{}');
INSERT INTO "event" VALUES(142,1.79580994085328149792e+09,'running',1,21,1,'{"node_list":"vm","started":1795809940.5974844}');
INSERT INTO "event" VALUES(143,1.79580994130156040193e+09,'note',1,20,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 4 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(144,1.79580994161478376389e+09,'note',1,21,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 4 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(145,1.7958099441349663735e+09,'ended',1,20,1,'{"cause":"finished","ended":1795809944.111,"exit_code":0,"node_list":"vm","node_seconds":3.789515733718872,"reason":"","step":1287}');
INSERT INTO "event" VALUES(146,1.79580994414418220524e+09,'trial_ended',1,20,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(147,1.7958099441468954086e+09,'launching',1,22,1,'{"backend":"local","folder":"/recorded/home/runs/1/22/1","nodes":1,"push_secret":"left out 147","ranks":1,"token":"6bdb4747d28c0f402a01bcb32aaa1889"}');
INSERT INTO "event" VALUES(148,1.79580994414803218842e+09,'recorded',1,22,1,'{"handle":"local:6bdb4747"}');
INSERT INTO "event" VALUES(149,1.79580994416497230527e+09,'released',1,22,1,'{}');
INSERT INTO "event" VALUES(150,1.79580994441692662236e+09,'running',1,22,1,'{"node_list":"vm","started":1795809944.1974845}');
INSERT INTO "event" VALUES(151,1.79580994634678149223e+09,'ended',1,21,1,'{"cause":"finished","ended":1795809946.09,"exit_code":0,"node_list":"vm","node_seconds":5.492515563964844,"reason":"","step":1287}');
INSERT INTO "event" VALUES(152,1.795809946419018507e+09,'trial_ended',1,21,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(153,1.79580994665710830691e+09,'launching',1,23,1,'{"backend":"local","folder":"/recorded/home/runs/1/23/1","nodes":1,"push_secret":"left out 153","ranks":1,"token":"78678088b01c9f424e043f15e3b59487"}');
INSERT INTO "event" VALUES(154,1.79580994674290847783e+09,'recorded',1,23,1,'{"handle":"local:78678088"}');
INSERT INTO "event" VALUES(155,1.79580994675489425665e+09,'released',1,23,1,'{}');
INSERT INTO "event" VALUES(156,1.79580994705121922486e+09,'running',1,23,1,'{"node_list":"vm","started":1795809946.8014846}');
INSERT INTO "event" VALUES(157,1.79580994750315022468e+09,'note',1,22,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 4 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(158,1.79580994787479853629e+09,'note',1,23,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 4 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(159,1.79580995198306059834e+09,'ended',1,23,1,'{"cause":"finished","ended":1795809951.743,"exit_code":0,"node_list":"vm","node_seconds":4.9415154457092285,"reason":"","step":1287}');
INSERT INTO "event" VALUES(160,1795809951.98367,'trial_ended',1,23,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(161,1.79580995198415970803e+09,'launching',1,24,1,'{"backend":"local","folder":"/recorded/home/runs/1/24/1","nodes":1,"push_secret":"left out 161","ranks":1,"token":"954efd268d6965fabed1ce218971df4f"}');
INSERT INTO "event" VALUES(162,1.79580995199276089672e+09,'recorded',1,24,1,'{"handle":"local:954efd26"}');
INSERT INTO "event" VALUES(163,1.79580995199784684184e+09,'released',1,24,1,'{}');
INSERT INTO "event" VALUES(164,1.79580995224866652492e+09,'running',1,24,1,'{"node_list":"vm","started":1795809951.997485}');
INSERT INTO "event" VALUES(165,1.79580995378179240221e+09,'note',1,24,1,'{"level":"info","text":"sync.mode lag: each gradient is applied 4 steps late; large momentum may want a lower learning rate"}');
INSERT INTO "event" VALUES(166,1.7958099540275738239e+09,'ended',1,22,1,'{"cause":"finished","ended":1795809953.953,"exit_code":0,"node_list":"vm","node_seconds":9.755515575408936,"reason":"","step":1287}');
INSERT INTO "event" VALUES(167,1.79580995402823567395e+09,'trial_ended',1,22,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(168,1.79580995923942184446e+09,'ended',1,24,1,'{"cause":"finished","ended":1795809959.034,"exit_code":0,"node_list":"vm","node_seconds":7.0365149974823,"reason":"","step":1287}');
INSERT INTO "event" VALUES(169,1.79580995924314212796e+09,'trial_ended',1,24,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(170,1.79580995924582147594e+09,'sweep_ended',1,0,0,'{"state":"finished"}');
CREATE TABLE metric_chunk (
  attempt INTEGER NOT NULL REFERENCES attempt (id),
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  number INTEGER NOT NULL,
  points INTEGER NOT NULL,
  first_step INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  min REAL,
  max REAL,
  data TEXT NOT NULL,
  UNIQUE (attempt, metric, number)
);
INSERT INTO "metric_chunk" VALUES(1,17,0,3,429,1287,0.8562,8.72400000000000064304e-01,'[[429,0.8562,2060848],[858,0.8664000000000001,3294293],[1287,0.8724000000000001,4572592]]');
INSERT INTO "metric_chunk" VALUES(2,17,0,3,429,1287,0.8536,0.8758,'[[429,0.8536,3376847],[858,0.8698,5315061],[1287,0.8758,7082852]]');
INSERT INTO "metric_chunk" VALUES(3,17,0,3,429,1287,0.8602,0.8746,'[[429,0.8602,910609],[858,0.873,1808581],[1287,0.8746,4293945]]');
INSERT INTO "metric_chunk" VALUES(4,17,0,3,429,1287,8.37199999999999944222e-01,0.8762,'[[429,0.8371999999999999,2319322],[858,0.8566,4336209],[1287,0.8762,5489643]]');
INSERT INTO "metric_chunk" VALUES(5,17,0,3,429,1287,0.8278,0.8792,'[[429,0.8278,2491277],[858,0.8704000000000001,3325770],[1287,0.8792,5014449]]');
INSERT INTO "metric_chunk" VALUES(6,17,0,3,429,1287,0.8458,0.8848,'[[429,0.8458,3905196],[858,0.874,6590301],[1287,0.8848,8620834]]');
INSERT INTO "metric_chunk" VALUES(7,17,0,3,429,1287,0.8228,0.865,'[[429,0.8228,1998280],[858,0.8612,2592208],[1287,0.865,3257811]]');
INSERT INTO "metric_chunk" VALUES(8,17,0,3,429,1287,0.8304,0.8666,'[[429,0.8304,1482609],[858,0.8644000000000001,2274598],[1287,0.8666,2794311]]');
INSERT INTO "metric_chunk" VALUES(10,17,0,3,429,1287,3.95800000000000040678e-01,0.6988,'[[429,0.39580000000000004,1215413],[858,0.5025999999999999,1970800],[1287,0.6988,3128261]]');
INSERT INTO "metric_chunk" VALUES(9,17,0,3,429,1287,0.8346,0.8696,'[[429,0.8346,2493457],[858,0.8646,4164749],[1287,0.8696,4834787]]');
INSERT INTO "metric_chunk" VALUES(11,17,0,3,429,1287,0.53,0.7948,'[[429,0.53,756536],[858,0.6986,1483876],[1287,0.7948,2309003]]');
INSERT INTO "metric_chunk" VALUES(12,17,0,3,429,1287,0.3326,0.649,'[[429,0.3326,1427620],[858,0.493,2704643],[1287,0.649,4594812]]');
INSERT INTO "metric_chunk" VALUES(13,17,0,3,429,1287,7.58599999999999941024e-01,0.8488,'[[429,0.7585999999999999,1478914],[858,0.8456,2986810],[1287,0.8488,4375028]]');
INSERT INTO "metric_chunk" VALUES(14,17,0,3,429,1287,7.76799999999999934985e-01,0.8498,'[[429,0.7767999999999999,2344936],[858,0.842,4242319],[1287,0.8498,6168022]]');
INSERT INTO "metric_chunk" VALUES(15,17,0,3,429,1287,0.79,0.8484,'[[429,0.79,866410],[858,0.8432,1977320],[1287,0.8484,2965483]]');
INSERT INTO "metric_chunk" VALUES(16,17,0,3,429,1287,1.84799999999999964295e-01,2.19999999999999973354e-01,'[[429,0.18479999999999996,1223503],[858,0.21999999999999997,2150697],[1287,0.20940000000000003,3622911]]');
INSERT INTO "metric_chunk" VALUES(17,17,0,3,429,1287,2.24400000000000043876e-01,2.43399999999999949729e-01,'[[429,0.24339999999999995,1841812],[858,0.22440000000000004,2644698],[1287,0.23860000000000003,3667751]]');
INSERT INTO "metric_chunk" VALUES(18,17,0,3,429,1287,2.1319999999999994511e-01,0.4204,'[[429,0.21319999999999995,1828559],[858,0.2702,4754848],[1287,0.4204,5888527]]');
INSERT INTO "metric_chunk" VALUES(19,17,0,3,429,1287,0.4648,0.7632,'[[429,0.4648,1510523],[858,0.7048,2470558],[1287,0.7632,3254835]]');
INSERT INTO "metric_chunk" VALUES(21,17,0,3,429,1287,5.36799999999999943867e-01,6.97000000000000063948e-01,'[[429,0.5367999999999999,1518393],[858,0.683,3102810],[1287,0.6970000000000001,5010844]]');
INSERT INTO "metric_chunk" VALUES(20,17,0,3,429,1287,0.5644,0.7792,'[[429,0.5644,1603165],[858,0.6858,2487566],[1287,0.7792,3080918]]');
INSERT INTO "metric_chunk" VALUES(23,17,0,3,429,1287,1.23600000000000043165e-01,1.40800000000000036237e-01,'[[429,0.12360000000000004,1477651],[858,0.1382,2349610],[1287,0.14080000000000004,3702815]]');
INSERT INTO "metric_chunk" VALUES(22,17,0,3,429,1287,1.14999999999999991118e-01,0.1642,'[[429,0.11519999999999997,3722983],[858,0.11499999999999999,5479659],[1287,0.1642,6823755]]');
INSERT INTO "metric_chunk" VALUES(24,17,0,3,429,1287,1.15800000000000014033e-01,1.23800000000000021138e-01,'[[429,0.11580000000000001,2395600],[858,0.12380000000000002,3726818],[1287,0.12119999999999997,4989769]]');
CREATE TABLE metric_latest (
  sweep INTEGER NOT NULL,
  trial INTEGER NOT NULL,
  metric INTEGER NOT NULL REFERENCES metric_name (id),
  attempt INTEGER NOT NULL,
  step INTEGER NOT NULL,
  value REAL,
  time REAL NOT NULL,
  min REAL,
  max REAL,
  points INTEGER NOT NULL,
  PRIMARY KEY (sweep, trial, metric),
  FOREIGN KEY (sweep, trial) REFERENCES trial (sweep, trial)
) WITHOUT ROWID;
INSERT INTO "metric_latest" VALUES(1,1,17,1,1287,8.72400000000000064304e-01,1.79580988857259202001e+09,0.8562,8.72400000000000064304e-01,3);
INSERT INTO "metric_latest" VALUES(1,2,17,1,1287,0.8758,1.79580989008285212514e+09,0.8536,0.8758,3);
INSERT INTO "metric_latest" VALUES(1,3,17,1,1287,0.8746,1.7958098942939450741e+09,0.8602,0.8746,3);
INSERT INTO "metric_latest" VALUES(1,4,17,1,1287,0.8762,1.79580989748964309693e+09,8.37199999999999944222e-01,0.8762,3);
INSERT INTO "metric_latest" VALUES(1,5,17,1,1287,0.8792,1.79580990001444935804e+09,0.8278,0.8792,3);
INSERT INTO "metric_latest" VALUES(1,6,17,1,1287,0.8848,1.79580990762083387377e+09,0.8458,0.8848,3);
INSERT INTO "metric_latest" VALUES(1,7,17,1,1287,0.865,1.79580990425781083109e+09,0.8228,0.865,3);
INSERT INTO "metric_latest" VALUES(1,8,17,1,1287,0.8666,1.79580990779431056976e+09,0.8304,0.8666,3);
INSERT INTO "metric_latest" VALUES(1,9,17,1,1287,0.8696,1.79580991383478689189e+09,0.8346,0.8696,3);
INSERT INTO "metric_latest" VALUES(1,10,17,1,1287,0.6988,1.79580991212826085088e+09,3.95800000000000040678e-01,0.6988,3);
INSERT INTO "metric_latest" VALUES(1,11,17,1,1287,0.7948,1.79580991630900311467e+09,0.53,0.7948,3);
INSERT INTO "metric_latest" VALUES(1,12,17,1,1287,0.649,1.79580992059481143953e+09,0.3326,0.649,3);
INSERT INTO "metric_latest" VALUES(1,13,17,1,1287,0.8488,1.7958099233750276565e+09,7.58599999999999941024e-01,0.8488,3);
INSERT INTO "metric_latest" VALUES(1,14,17,1,1287,0.8498,1.79580992716802167888e+09,7.76799999999999934985e-01,0.8498,3);
INSERT INTO "metric_latest" VALUES(1,15,17,1,1287,0.8484,1.79580992896548247332e+09,0.79,0.8484,3);
INSERT INTO "metric_latest" VALUES(1,16,17,1,1287,2.09400000000000030553e-01,1.795809932622910738e+09,1.84799999999999964295e-01,2.19999999999999973354e-01,3);
INSERT INTO "metric_latest" VALUES(1,17,17,1,1287,2.38600000000000034283e-01,1.79580993466775059698e+09,2.24400000000000043876e-01,2.43399999999999949729e-01,3);
INSERT INTO "metric_latest" VALUES(1,18,17,1,1287,0.4204,1.79580993988852667805e+09,2.1319999999999994511e-01,0.4204,3);
INSERT INTO "metric_latest" VALUES(1,19,17,1,1287,0.7632,1.79580994025483489033e+09,0.4648,0.7632,3);
INSERT INTO "metric_latest" VALUES(1,20,17,1,1287,0.7792,1.79580994408091807368e+09,0.5644,0.7792,3);
INSERT INTO "metric_latest" VALUES(1,21,17,1,1287,6.97000000000000063948e-01,1.79580994601084399219e+09,5.36799999999999943867e-01,6.97000000000000063948e-01,3);
INSERT INTO "metric_latest" VALUES(1,22,17,1,1287,0.1642,1.79580995382375454899e+09,1.14999999999999991118e-01,0.1642,3);
INSERT INTO "metric_latest" VALUES(1,23,17,1,1287,1.40800000000000036237e-01,1.79580995170281529425e+09,1.23600000000000043165e-01,1.40800000000000036237e-01,3);
INSERT INTO "metric_latest" VALUES(1,24,17,1,1287,1.2119999999999997442e-01,1.79580995898976922037e+09,1.15800000000000014033e-01,1.23800000000000021138e-01,3);
CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO "metric_name" VALUES(17,'val/accuracy');
CREATE TABLE sweep (
  id INTEGER PRIMARY KEY AUTOINCREMENT,  -- ids are printed in job names: never use one twice
  name TEXT NOT NULL,
  owner TEXT NOT NULL,
  backend TEXT NOT NULL,
  file_name TEXT NOT NULL,
  text TEXT NOT NULL,
  metric TEXT NOT NULL,
  goal TEXT NOT NULL,
  target REAL,
  state TEXT NOT NULL,
  submitted REAL,
  ended REAL,
  notes TEXT NOT NULL
, targets TEXT NOT NULL DEFAULT '[]', tags TEXT NOT NULL DEFAULT '[]', comment TEXT NOT NULL DEFAULT '', archived REAL, configurations_version INTEGER NOT NULL DEFAULT 0);
INSERT INTO "sweep" VALUES(1,'gradient-lag','root','local','gradient-lag.yaml','# What applying gradients some steps late costs in accuracy, with and without momentum. Lag 1 hides
# the ranks'' communication behind the next step; momentum wants a lower rate then.
name: gradient-lag
method: grid
metric: {name: val/accuracy, goal: maximize}
seeds: 3
parameters:
  sync.lag: {values: [0, 1, 2, 4]}
  optimizer.lr: {values: [0.02, 0.1]}
train:
  model: {name: mlp, hidden: [128]}
  data: {name: fashion-mnist, validation: 5000, split: last}
  batch: {global: 128}
  epochs: 3
  optimizer: {name: momentum, momentum: 0.9}
  schedule: {decay: cosine}
  sync: {mode: lag}
  noise: {every: 0}
limits: {max_nodes_in_flight: 2}
','val/accuracy','maximize',NULL,'finished',1.79580988275509691241e+09,1.79580995924582147594e+09,'[]','[]','[]','',NULL,1);
CREATE TABLE sweep_environment (
  sweep INTEGER PRIMARY KEY REFERENCES sweep (id) ON DELETE CASCADE,
  entries TEXT NOT NULL
);
CREATE TABLE trial (
  sweep INTEGER NOT NULL REFERENCES sweep (id),
  trial INTEGER NOT NULL,
  configuration INTEGER NOT NULL,
  seed INTEGER NOT NULL,
  hash TEXT NOT NULL,
  state TEXT NOT NULL,
  train TEXT NOT NULL,
  parameters TEXT NOT NULL,
  resources TEXT NOT NULL,
  attempts INTEGER NOT NULL,
  ended REAL,
  reason TEXT NOT NULL,
  UNIQUE (sweep, trial)
);
INSERT INTO "trial" VALUES(1,1,1,1,'cb4c9b871f7d0e571a9598e1779e5fa9','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":0},"noise":{"every":0}}','{"sync.lag":0,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580988870807266234e+09,'');
INSERT INTO "trial" VALUES(1,2,1,2,'cb4c9b871f7d0e571a9598e1779e5fa9','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":0},"noise":{"every":0}}','{"sync.lag":0,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.7958098902348895073e+09,'');
INSERT INTO "trial" VALUES(1,3,1,3,'cb4c9b871f7d0e571a9598e1779e5fa9','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":0},"noise":{"every":0}}','{"sync.lag":0,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580989438694787023e+09,'');
INSERT INTO "trial" VALUES(1,4,2,1,'e1ffc7964b3b65d99ddb167e21e415ab','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":0},"noise":{"every":0}}','{"sync.lag":0,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1795809897.70402,'');
INSERT INTO "trial" VALUES(1,5,2,2,'e1ffc7964b3b65d99ddb167e21e415ab','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":0},"noise":{"every":0}}','{"sync.lag":0,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580990015967893605e+09,'');
INSERT INTO "trial" VALUES(1,6,2,3,'e1ffc7964b3b65d99ddb167e21e415ab','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":0},"noise":{"every":0}}','{"sync.lag":0,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580990794190287589e+09,'');
INSERT INTO "trial" VALUES(1,7,3,1,'a85ceabe654c872f44c27fd6ad984c41','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":1},"noise":{"every":0}}','{"sync.lag":1,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580990450682115551e+09,'');
INSERT INTO "trial" VALUES(1,8,3,2,'a85ceabe654c872f44c27fd6ad984c41','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":1},"noise":{"every":0}}','{"sync.lag":1,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580990794190645219e+09,'');
INSERT INTO "trial" VALUES(1,9,3,3,'a85ceabe654c872f44c27fd6ad984c41','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":1},"noise":{"every":0}}','{"sync.lag":1,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580991402148556707e+09,'');
INSERT INTO "trial" VALUES(1,10,4,1,'00d551efd42bc1c0d0df3474ae79bdf1','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":1},"noise":{"every":0}}','{"sync.lag":1,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580991245729541783e+09,'');
INSERT INTO "trial" VALUES(1,11,4,2,'00d551efd42bc1c0d0df3474ae79bdf1','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":1},"noise":{"every":0}}','{"sync.lag":1,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580991658919239041e+09,'');
INSERT INTO "trial" VALUES(1,12,4,3,'00d551efd42bc1c0d0df3474ae79bdf1','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":1},"noise":{"every":0}}','{"sync.lag":1,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580992078283524513e+09,'');
INSERT INTO "trial" VALUES(1,13,5,1,'d1d3fe75caca349ed846b53a4fc86dc8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":2},"noise":{"every":0}}','{"sync.lag":2,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580992359886026377e+09,'');
INSERT INTO "trial" VALUES(1,14,5,2,'d1d3fe75caca349ed846b53a4fc86dc8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":2},"noise":{"every":0}}','{"sync.lag":2,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580992764491915699e+09,'');
INSERT INTO "trial" VALUES(1,15,5,3,'d1d3fe75caca349ed846b53a4fc86dc8','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":2},"noise":{"every":0}}','{"sync.lag":2,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1795809929.18379,'');
INSERT INTO "trial" VALUES(1,16,6,1,'444a855451aac3786cd489a4fc127b49','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":2},"noise":{"every":0}}','{"sync.lag":2,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580993306323742869e+09,'');
INSERT INTO "trial" VALUES(1,17,6,2,'444a855451aac3786cd489a4fc127b49','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":2},"noise":{"every":0}}','{"sync.lag":2,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580993473486232752e+09,'');
INSERT INTO "trial" VALUES(1,18,6,3,'444a855451aac3786cd489a4fc127b49','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":2},"noise":{"every":0}}','{"sync.lag":2,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580994027559208868e+09,'');
INSERT INTO "trial" VALUES(1,19,7,1,'bd9d8cd98e0fdcbbbf2aa8f6e7f87e96','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":4},"noise":{"every":0}}','{"sync.lag":4,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580994058287358276e+09,'');
INSERT INTO "trial" VALUES(1,20,7,2,'bd9d8cd98e0fdcbbbf2aa8f6e7f87e96','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":4},"noise":{"every":0}}','{"sync.lag":4,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580994414418220524e+09,'');
INSERT INTO "trial" VALUES(1,21,7,3,'bd9d8cd98e0fdcbbbf2aa8f6e7f87e96','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.02},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":4},"noise":{"every":0}}','{"sync.lag":4,"optimizer.lr":0.02}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.795809946419018507e+09,'');
INSERT INTO "trial" VALUES(1,22,8,1,'fa51a54af55b6d7afa260060575a21af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":4},"noise":{"every":0}}','{"sync.lag":4,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580995402823567395e+09,'');
INSERT INTO "trial" VALUES(1,23,8,2,'fa51a54af55b6d7afa260060575a21af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":4},"noise":{"every":0}}','{"sync.lag":4,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1795809951.98367,'');
INSERT INTO "trial" VALUES(1,24,8,3,'fa51a54af55b6d7afa260060575a21af','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":128},"epochs":3,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.1},"schedule":{"decay":"cosine"},"sync":{"mode":"lag","lag":4},"noise":{"every":0}}','{"sync.lag":4,"optimizer.lr":0.1}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580995924314212796e+09,'');
CREATE UNIQUE INDEX trial_once ON trial (sweep, hash, seed) WHERE hash <> '';
CREATE INDEX event_of ON event (sweep, trial, attempt);
CREATE INDEX trial_state ON trial (sweep, trial, state, configuration, seed);
CREATE VIEW trials AS
SELECT sweep || '.' || trial AS id, sweep, trial, configuration, seed, state, attempts, ended, reason,
       json_extract(resources, '$.nodes') AS nodes, parameters, train, resources
FROM trial;
CREATE VIEW metrics AS
SELECT a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt, n.name AS metric,
       json_extract(p.value, '$[0]') AS step, CAST(json_extract(p.value, '$[1]') AS REAL) AS value,
       (a.clock + json_extract(p.value, '$[2]')) / 1e6 AS time
FROM attempt AS a
JOIN metric_chunk AS c ON c.attempt = a.id
JOIN metric_name AS n ON n.id = c.metric
JOIN json_each(c.data) AS p;
CREATE VIEW latest_metrics AS
SELECT l.sweep AS sweep, l.trial AS trial, n.name AS metric, l.attempt AS attempt, l.step AS step, l.value AS value,
       l.time AS time, l.min AS min, l.max AS max, l.points AS points
FROM metric_latest AS l
JOIN metric_name AS n ON n.id = l.metric;
CREATE VIEW hyperparameters AS
SELECT t.sweep AS sweep, t.trial AS trial, p.key AS name, p.value AS value, 1 AS varied,
       ifnull(json_extract(t.config, '$."' || replace(p.key, '.', '"."') || '"'), p.value) AS resolved
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_each(t.parameters) AS p
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), p.value, 0,
       ifnull(json_extract(t.config, p.fullkey), p.value)
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.train) AS p
WHERE p.type <> 'object' AND instr(p.fullkey, '[') = 0
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''))
UNION ALL
SELECT t.sweep, t.trial, replace(substr(p.fullkey, 3), '"', ''), NULL, 0, p.value
FROM (SELECT t.sweep AS sweep, t.trial AS trial, t.parameters AS parameters, t.train AS train,
             (SELECT json_extract(s.record, '$.config')
              FROM attempt AS a JOIN attempt_start AS s ON s.attempt = a.id
              WHERE a.sweep = t.sweep AND a.trial = t.trial ORDER BY a.attempt DESC LIMIT 1) AS config
      FROM trial AS t) AS t
JOIN json_tree(t.config) AS p
WHERE p.type NOT IN ('object', 'null') AND instr(p.fullkey, '[') = 0
  AND json_type(t.train, p.fullkey) IS NULL
  AND NOT EXISTS (SELECT 1 FROM json_each(t.parameters) AS v
                  WHERE v.key = replace(substr(p.fullkey, 3), '"', ''));
CREATE VIEW sweeps AS
SELECT id AS sweep, name, owner, backend, file_name, metric, goal, target, state, submitted, ended, notes, text,
       targets, tags, comment, archived
FROM sweep;
CREATE VIEW ranks AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, c.key AS rank, json_extract(s.record, '$.node_list[' || c.key || ']') AS node,
       json_extract(s.ranks, '$.step') AS step,
       json_extract(s.ranks, '$.data_ms[' || c.key || ']') AS data_ms, c.value AS compute_ms,
       json_extract(s.ranks, '$.comm_exposed_ms[' || c.key || ']') AS comm_exposed_ms,
       json_extract(s.ranks, '$.skew_ms[' || c.key || ']') AS skew_ms,
       json_extract(s.ranks, '$.optimizer_ms[' || c.key || ']') AS optimizer_ms
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt
JOIN json_each(json_extract(s.ranks, '$.compute_ms')) AS c;
CREATE VIEW starts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial,
       a.attempt AS attempt, json_extract(s.record, '$.version') AS version,
       json_extract(s.record, '$.device') AS device, json_extract(s.record, '$.device_name') AS device_name,
       json_extract(s.record, '$.ranks') AS ranks, json_extract(s.record, '$.threads') AS threads,
       json_extract(s.record, '$.shards') AS shards, json_extract(s.record, '$.parameters') AS parameters,
       json_extract(s.record, '$.flops_per_sample') AS flops_per_sample,
       json_extract(s.record, '$.steps') AS steps, json_extract(s.record, '$.resumed_step') AS resumed_step,
       json_extract(s.record, '$.libraries') AS libraries, json_extract(s.record, '$.config') AS config,
       json_extract(s.record, '$.commit') AS commit_id, json_extract(s.record, '$.transport') AS transport,
       json_extract(s.record, '$.machines') AS machines
FROM attempt_start AS s JOIN attempt AS a ON a.id = s.attempt;
CREATE VIEW attempts AS
SELECT a.sweep || '.' || a.trial || '.' || a.attempt AS id, a.sweep AS sweep, a.trial AS trial, a.attempt AS attempt,
       a.state AS state, a.backend AS backend, a.handle AS handle, a.folder AS folder,
       a.launched AS launched, a.started AS started, a.ended AS ended, a.ended - a.started AS seconds,
       a.nodes * (a.ended - a.started) AS node_seconds,
       a.nodes AS nodes, a.ranks AS ranks, a.node_list AS node_list, a.reason AS reason, a.exit_code AS exit_code,
       a.failed_rank AS failed_rank, a.failed_node AS failed_node,
       a.nodes * ifnull(json_extract(t.resources, '$.gpus_per_node'), 0) * (a.ended - a.started) AS gpu_seconds,
       a.started - a.launched AS queued_seconds, a.eligible AS eligible,
       a.size_reason AS size_reason
FROM attempt AS a JOIN trial AS t ON t.sweep = a.sweep AND t.trial = a.trial;
CREATE VIEW events AS
SELECT number, time, kind, sweep, trial, attempt,
       CASE WHEN kind = 'launching' AND json_valid(data)
            THEN json_remove(data, '$.token', '$.push_secret')
            WHEN kind = 'submitted' AND json_valid(data)
            THEN json_remove(data, '$.owner.grant') ELSE data END AS data
FROM event;
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('sweep',1);
INSERT INTO "sqlite_sequence" VALUES('event',170);
COMMIT;
