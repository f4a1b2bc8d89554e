-- thalweg run asynchronous.yaml --backend local
-- commit 133d85fc30eb, 2026-11-27, 93 s on 2 cores of Intel(R) Xeon(R) Processor @ 2.50GHz
-- made by tests/end_to_end/record.py asynchronous
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
INSERT INTO "attempt" VALUES(1,1,1,1,'3d00f76c6abc73157e706ce23c6fe98b','finished','local','local:3d00f76c','/recorded/home/runs/1/1/1',1.79580985453135108945e+09,1.79580985455748152728e+09,1795809859.335,1,4,'vm','',0,NULL,'',53,1795809858000000,NULL,'');
INSERT INTO "attempt" VALUES(2,1,2,1,'faf65e9d124683af2c1e2150dc65eab9','finished','local','local:faf65e9d','/recorded/home/runs/1/2/1',1.79580985947492337232e+09,1.79580985955748152725e+09,1795809869.143,1,4,'vm','',0,NULL,'',53,1795809866000000,NULL,'');
INSERT INTO "attempt" VALUES(3,1,3,1,'92ab2ee97731212a55f7dc9d738ffef5','finished','local','local:92ab2ee9','/recorded/home/runs/1/3/1',1.79580986924022603041e+09,1.79580986926948189732e+09,1795809875.11,1,4,'vm','',0,NULL,'',53,1795809873000000,NULL,'');
INSERT INTO "attempt" VALUES(4,1,4,1,'741b7d29e1126dd4a4541262afbd27ee','finished','local','local:741b7d29','/recorded/home/runs/1/4/1',1.79580987515506672854e+09,1.79580987518148207666e+09,1795809880.405,1,4,'vm','',0,NULL,'',53,1795809879000000,NULL,'');
INSERT INTO "attempt" VALUES(5,1,5,1,'fd51393214a2fced2c2150acf9600304','finished','local','local:fd513932','/recorded/home/runs/1/5/1',1.79580988075165891649e+09,1.79580988085348224646e+09,1795809885.829,1,4,'vm','',0,NULL,'',53,1795809884000000,NULL,'');
INSERT INTO "attempt" VALUES(6,1,6,1,'a6bbc2277e6d5dcd4e1c61f625e753fd','finished','local','local:a6bbc227','/recorded/home/runs/1/6/1',1.79580988596354961398e+09,1.79580988600548243521e+09,1795809892.935,1,4,'vm','',0,NULL,'',53,1795809891000000,NULL,'');
INSERT INTO "attempt" VALUES(7,1,7,1,'7096057f85259ddc533fb85c7b34b44e','finished','local','local:7096057f','/recorded/home/runs/1/7/1',1.79580989313832402234e+09,1.79580989316148281094e+09,1795809901.913,1,4,'vm','',0,NULL,'',53,1795809898000000,NULL,'');
INSERT INTO "attempt" VALUES(8,1,8,1,'95a8dca9e103b8205670deab2836be42','finished','local','local:95a8dca9','/recorded/home/runs/1/8/1',1.79580990212237191199e+09,1.79580990213348317147e+09,1795809912.923,1,4,'vm','',0,NULL,'',53,1795809908000000,NULL,'');
INSERT INTO "attempt" VALUES(9,1,9,1,'4d1cb2b554bc2b2c955afd241518c6a1','finished','local','local:4d1cb2b5','/recorded/home/runs/1/9/1',1.79580991304288196562e+09,1.79580991305748343461e+09,1795809920.211,1,4,'vm','',0,NULL,'',53,1795809917000000,NULL,'');
INSERT INTO "attempt" VALUES(10,1,10,1,'4190a7e44977b2077cb7cec0f76e3786','finished','local','local:4190a7e4','/recorded/home/runs/1/10/1',1.79580992045607209205e+09,1.79580992051348376273e+09,1795809929.087,1,4,'vm','',0,NULL,'',53,1795809924000000,NULL,'');
INSERT INTO "attempt" VALUES(11,1,11,1,'cf776a22a520337b5ef8750b217d7cde','finished','local','local:cf776a22','/recorded/home/runs/1/11/1',1.79580992924519395833e+09,1.79580992926548409466e+09,1795809938.593,1,4,'vm','',0,NULL,'',53,1795809935000000,NULL,'');
INSERT INTO "attempt" VALUES(12,1,12,1,'30142e4a76f76490c792a220a1bbe62c','finished','local','local:30142e4a','/recorded/home/runs/1/12/1',1.79580993892349076272e+09,1.79580993896548438072e+09,1795809947.011,1,4,'vm','',0,NULL,'',53,1795809944000000,NULL,'');
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
INSERT INTO "event" VALUES(1,1.79580985451975107193e+09,'submitted',1,0,0,'{"backend":"local","directory":"/recorded","keep":{"checkpoints":"all","points":0,"trials":0},"limits":{"max_nodes_in_flight":1,"max_retries":2,"node_hours":0.0},"metric":{"goal":"maximize","name":"val/accuracy"},"shapes":[{"count":12,"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}],"slurm":{}}');
INSERT INTO "event" VALUES(2,1.79580985453135108945e+09,'launching',1,1,1,'{"backend":"local","folder":"/recorded/home/runs/1/1/1","nodes":1,"push_secret":"left out 2","ranks":4,"token":"3d00f76c6abc73157e706ce23c6fe98b"}');
INSERT INTO "event" VALUES(3,1.79580985455491638183e+09,'recorded',1,1,1,'{"handle":"local:3d00f76c"}');
INSERT INTO "event" VALUES(4,1.79580985455960035323e+09,'released',1,1,1,'{}');
INSERT INTO "event" VALUES(5,1.79580985481903505321e+09,'running',1,1,1,'{"node_list":"vm","started":1795809854.5574815}');
INSERT INTO "event" VALUES(6,1.79580985947299218174e+09,'ended',1,1,1,'{"cause":"finished","ended":1795809859.335,"exit_code":0,"node_list":"vm","node_seconds":4.7775185108184814,"reason":"","step":428}');
INSERT INTO "event" VALUES(7,1.79580985947342658048e+09,'trial_ended',1,1,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(8,1.79580985947492337232e+09,'launching',1,2,1,'{"backend":"local","folder":"/recorded/home/runs/1/2/1","nodes":1,"push_secret":"left out 8","ranks":4,"token":"faf65e9d124683af2c1e2150dc65eab9"}');
INSERT INTO "event" VALUES(9,1.79580985953430724141e+09,'recorded',1,2,1,'{"handle":"local:faf65e9d"}');
INSERT INTO "event" VALUES(10,1.7958098595596883297e+09,'released',1,2,1,'{}');
INSERT INTO "event" VALUES(11,1.79580985981215643888e+09,'running',1,2,1,'{"node_list":"vm","started":1795809859.5574815}');
INSERT INTO "event" VALUES(12,1.79580986923430657381e+09,'ended',1,2,1,'{"cause":"finished","ended":1795809869.143,"exit_code":0,"node_list":"vm","node_seconds":9.58551836013794,"reason":"","step":428}');
INSERT INTO "event" VALUES(13,1.79580986923577046393e+09,'trial_ended',1,2,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(14,1.79580986924022603041e+09,'launching',1,3,1,'{"backend":"local","folder":"/recorded/home/runs/1/3/1","nodes":1,"push_secret":"left out 14","ranks":4,"token":"92ab2ee97731212a55f7dc9d738ffef5"}');
INSERT INTO "event" VALUES(15,1.79580986925279188154e+09,'recorded',1,3,1,'{"handle":"local:92ab2ee9"}');
INSERT INTO "event" VALUES(16,1.7958098692628965378e+09,'released',1,3,1,'{}');
INSERT INTO "event" VALUES(17,1.79580986951898717877e+09,'running',1,3,1,'{"node_list":"vm","started":1795809869.269482}');
INSERT INTO "event" VALUES(18,1.79580987515100932118e+09,'ended',1,3,1,'{"cause":"finished","ended":1795809875.11,"exit_code":0,"node_list":"vm","node_seconds":5.840517997741699,"reason":"","step":428}');
INSERT INTO "event" VALUES(19,1.7958098751515848637e+09,'trial_ended',1,3,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(20,1.79580987515506672854e+09,'launching',1,4,1,'{"backend":"local","folder":"/recorded/home/runs/1/4/1","nodes":1,"push_secret":"left out 20","ranks":4,"token":"741b7d29e1126dd4a4541262afbd27ee"}');
INSERT INTO "event" VALUES(21,1.79580987516532087321e+09,'recorded',1,4,1,'{"handle":"local:741b7d29"}');
INSERT INTO "event" VALUES(22,1.79580987517550897595e+09,'released',1,4,1,'{}');
INSERT INTO "event" VALUES(23,1.79580987542911362647e+09,'running',1,4,1,'{"node_list":"vm","started":1795809875.181482}');
INSERT INTO "event" VALUES(24,1.79580988074451589585e+09,'ended',1,4,1,'{"cause":"finished","ended":1795809880.405,"exit_code":0,"node_list":"vm","node_seconds":5.223517894744873,"reason":"","step":428}');
INSERT INTO "event" VALUES(25,1.79580988074515199661e+09,'trial_ended',1,4,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(26,1.79580988075165891649e+09,'launching',1,5,1,'{"backend":"local","folder":"/recorded/home/runs/1/5/1","nodes":1,"push_secret":"left out 26","ranks":4,"token":"fd51393214a2fced2c2150acf9600304"}');
INSERT INTO "event" VALUES(27,1.79580988080292916304e+09,'recorded',1,5,1,'{"handle":"local:fd513932"}');
INSERT INTO "event" VALUES(28,1.79580988084823584558e+09,'released',1,5,1,'{}');
INSERT INTO "event" VALUES(29,1.79580988110107707973e+09,'running',1,5,1,'{"node_list":"vm","started":1795809880.8534822}');
INSERT INTO "event" VALUES(30,1.7958098859378139973e+09,'ended',1,5,1,'{"cause":"finished","ended":1795809885.829,"exit_code":0,"node_list":"vm","node_seconds":4.975517749786377,"reason":"","step":428}');
INSERT INTO "event" VALUES(31,1.79580988593859052653e+09,'trial_ended',1,5,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(32,1.79580988596354961398e+09,'launching',1,6,1,'{"backend":"local","folder":"/recorded/home/runs/1/6/1","nodes":1,"push_secret":"left out 32","ranks":4,"token":"a6bbc2277e6d5dcd4e1c61f625e753fd"}');
INSERT INTO "event" VALUES(33,1.79580988598885822301e+09,'recorded',1,6,1,'{"handle":"local:a6bbc227"}');
INSERT INTO "event" VALUES(34,1.79580988600785017013e+09,'released',1,6,1,'{}');
INSERT INTO "event" VALUES(35,1.79580988626441812516e+09,'running',1,6,1,'{"node_list":"vm","started":1795809886.0054824}');
INSERT INTO "event" VALUES(36,1.79580989313603949552e+09,'ended',1,6,1,'{"cause":"finished","ended":1795809892.935,"exit_code":0,"node_list":"vm","node_seconds":6.929517507553101,"reason":"","step":428}');
INSERT INTO "event" VALUES(37,1.79580989313695096971e+09,'trial_ended',1,6,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(38,1.79580989313832402234e+09,'launching',1,7,1,'{"backend":"local","folder":"/recorded/home/runs/1/7/1","nodes":1,"push_secret":"left out 38","ranks":4,"token":"7096057f85259ddc533fb85c7b34b44e"}');
INSERT INTO "event" VALUES(39,1.79580989315167570113e+09,'recorded',1,7,1,'{"handle":"local:7096057f"}');
INSERT INTO "event" VALUES(40,1.79580989316135168076e+09,'released',1,7,1,'{}');
INSERT INTO "event" VALUES(41,1.79580989341652894021e+09,'running',1,7,1,'{"node_list":"vm","started":1795809893.1614828}');
INSERT INTO "event" VALUES(42,1.79580990212040829661e+09,'ended',1,7,1,'{"cause":"finished","ended":1795809901.913,"exit_code":0,"node_list":"vm","node_seconds":8.751517295837402,"reason":"","step":428}');
INSERT INTO "event" VALUES(43,1.79580990212152266497e+09,'trial_ended',1,7,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(44,1.79580990212237191199e+09,'launching',1,8,1,'{"backend":"local","folder":"/recorded/home/runs/1/8/1","nodes":1,"push_secret":"left out 44","ranks":4,"token":"95a8dca9e103b8205670deab2836be42"}');
INSERT INTO "event" VALUES(45,1.79580990212853193284e+09,'recorded',1,8,1,'{"handle":"local:95a8dca9"}');
INSERT INTO "event" VALUES(46,1.79580990213444018359e+09,'released',1,8,1,'{}');
INSERT INTO "event" VALUES(47,1.79580990239414715762e+09,'running',1,8,1,'{"node_list":"vm","started":1795809902.1334832}');
INSERT INTO "event" VALUES(48,1.79580991303356409067e+09,'ended',1,8,1,'{"cause":"finished","ended":1795809912.923,"exit_code":0,"node_list":"vm","node_seconds":10.789516925811768,"reason":"","step":428}');
INSERT INTO "event" VALUES(49,1.7958099130396986008e+09,'trial_ended',1,8,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(50,1.79580991304288196562e+09,'launching',1,9,1,'{"backend":"local","folder":"/recorded/home/runs/1/9/1","nodes":1,"push_secret":"left out 50","ranks":4,"token":"4d1cb2b554bc2b2c955afd241518c6a1"}');
INSERT INTO "event" VALUES(51,1.79580991304477691648e+09,'recorded',1,9,1,'{"handle":"local:4d1cb2b5"}');
INSERT INTO "event" VALUES(52,1.79580991305351638787e+09,'released',1,9,1,'{}');
INSERT INTO "event" VALUES(53,1.79580991331144976608e+09,'running',1,9,1,'{"node_list":"vm","started":1795809913.0574834}');
INSERT INTO "event" VALUES(54,1.79580992044624543194e+09,'ended',1,9,1,'{"cause":"finished","ended":1795809920.211,"exit_code":0,"node_list":"vm","node_seconds":7.153516530990601,"reason":"","step":428}');
INSERT INTO "event" VALUES(55,1.79580992045114493363e+09,'trial_ended',1,9,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(56,1.79580992045607209205e+09,'launching',1,10,1,'{"backend":"local","folder":"/recorded/home/runs/1/10/1","nodes":1,"push_secret":"left out 56","ranks":4,"token":"4190a7e44977b2077cb7cec0f76e3786"}');
INSERT INTO "event" VALUES(57,1.79580992051029062275e+09,'recorded',1,10,1,'{"handle":"local:4190a7e4"}');
INSERT INTO "event" VALUES(58,1.79580992051323437693e+09,'released',1,10,1,'{}');
INSERT INTO "event" VALUES(59,1.79580992076924133302e+09,'running',1,10,1,'{"node_list":"vm","started":1795809920.5134838}');
INSERT INTO "event" VALUES(60,1.79580992923659086223e+09,'ended',1,10,1,'{"cause":"finished","ended":1795809929.087,"exit_code":0,"node_list":"vm","node_seconds":8.573516130447388,"reason":"","step":428}');
INSERT INTO "event" VALUES(61,1.7958099292388789654e+09,'trial_ended',1,10,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(62,1.79580992924519395833e+09,'launching',1,11,1,'{"backend":"local","folder":"/recorded/home/runs/1/11/1","nodes":1,"push_secret":"left out 62","ranks":4,"token":"cf776a22a520337b5ef8750b217d7cde"}');
INSERT INTO "event" VALUES(63,1.7958099292589590549e+09,'recorded',1,11,1,'{"handle":"local:cf776a22"}');
INSERT INTO "event" VALUES(64,1.7958099292666821479e+09,'released',1,11,1,'{}');
INSERT INTO "event" VALUES(65,1.79580992955403614041e+09,'running',1,11,1,'{"node_list":"vm","started":1795809929.265484}');
INSERT INTO "event" VALUES(66,1.79580993885136365895e+09,'ended',1,11,1,'{"cause":"finished","ended":1795809938.593,"exit_code":0,"node_list":"vm","node_seconds":9.327515840530396,"reason":"","step":428}');
INSERT INTO "event" VALUES(67,1.79580993885453128809e+09,'trial_ended',1,11,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(68,1.79580993892349076272e+09,'launching',1,12,1,'{"backend":"local","folder":"/recorded/home/runs/1/12/1","nodes":1,"push_secret":"left out 68","ranks":4,"token":"30142e4a76f76490c792a220a1bbe62c"}');
INSERT INTO "event" VALUES(69,1.79580993895333552359e+09,'recorded',1,12,1,'{"handle":"local:30142e4a"}');
INSERT INTO "event" VALUES(70,1.79580993896283888817e+09,'released',1,12,1,'{}');
INSERT INTO "event" VALUES(71,1.79580993921467828755e+09,'running',1,12,1,'{"node_list":"vm","started":1795809938.9654844}');
INSERT INTO "event" VALUES(72,1.79580994722699761392e+09,'ended',1,12,1,'{"cause":"finished","ended":1795809947.011,"exit_code":0,"node_list":"vm","node_seconds":8.045515537261963,"reason":"","step":428}');
INSERT INTO "event" VALUES(73,1.79580994722761130332e+09,'trial_ended',1,12,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(74,1.79580994723087716095e+09,'sweep_ended',1,0,0,'{"state":"finished"}');
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
INSERT INTO "metric_chunk" VALUES(1,20,0,2,214,428,0.8196,0.8246,'[[214,0.8196,728925],[428,0.8246,1262851]]');
INSERT INTO "metric_chunk" VALUES(2,20,0,2,214,428,0.8166,8.25199999999999933564e-01,'[[214,0.8166,1484864],[428,0.8251999999999999,3016279]]');
INSERT INTO "metric_chunk" VALUES(3,20,0,2,214,428,0.8228,0.831,'[[214,0.8228,1450991],[428,0.831,2042933]]');
INSERT INTO "metric_chunk" VALUES(4,20,0,2,214,428,0.849,0.8698,'[[214,0.849,879083],[428,0.8698,1355715]]');
INSERT INTO "metric_chunk" VALUES(5,20,0,2,214,428,0.8536,0.8686,'[[214,0.8536,723389],[428,0.8686,1651904]]');
INSERT INTO "metric_chunk" VALUES(6,20,0,2,214,428,0.8598,8.73599999999999932143e-01,'[[214,0.8598,1337450],[428,0.8735999999999999,1878997]]');
INSERT INTO "metric_chunk" VALUES(7,20,0,2,214,428,0.8436,0.8524,'[[214,0.8436,1818531],[428,0.8524,3761653]]');
INSERT INTO "metric_chunk" VALUES(8,20,0,2,214,428,0.8416,0.8592,'[[214,0.8416,3275478],[428,0.8592,4860971]]');
INSERT INTO "metric_chunk" VALUES(9,20,0,2,214,428,8.49399999999999932853e-01,0.8616,'[[214,0.8493999999999999,1877234],[428,0.8616,3153906]]');
INSERT INTO "metric_chunk" VALUES(10,20,0,2,214,428,0.3264,5.61800000000000077093e-01,'[[214,0.3264,1646951],[428,0.5618000000000001,5013111]]');
INSERT INTO "metric_chunk" VALUES(11,20,0,2,214,428,0.3318,0.5734,'[[214,0.3318,1833933],[428,0.5734,3507615]]');
INSERT INTO "metric_chunk" VALUES(12,20,0,2,214,428,2.65399999999999969269e-01,4.65199999999999946886e-01,'[[214,0.26539999999999997,1496191],[428,0.46519999999999995,2951765]]');
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
INSERT INTO "metric_latest" VALUES(1,1,20,1,428,0.8246,1.79580985926285099981e+09,0.8196,0.8246,2);
INSERT INTO "metric_latest" VALUES(1,2,20,1,428,8.25199999999999933564e-01,1.79580986901627898217e+09,0.8166,8.25199999999999933564e-01,2);
INSERT INTO "metric_latest" VALUES(1,3,20,1,428,0.831,1.79580987504293322566e+09,0.8228,0.831,2);
INSERT INTO "metric_latest" VALUES(1,4,20,1,428,0.8698,1.79580988035571527481e+09,0.849,0.8698,2);
INSERT INTO "metric_latest" VALUES(1,5,20,1,428,0.8686,1.79580988565190339091e+09,0.8536,0.8686,2);
INSERT INTO "metric_latest" VALUES(1,6,20,1,428,8.73599999999999932143e-01,1.79580989287899732594e+09,0.8598,8.73599999999999932143e-01,2);
INSERT INTO "metric_latest" VALUES(1,7,20,1,428,0.8524,1.79580990176165246957e+09,0.8436,0.8524,2);
INSERT INTO "metric_latest" VALUES(1,8,20,1,428,0.8592,1.79580991286097121232e+09,0.8416,0.8592,2);
INSERT INTO "metric_latest" VALUES(1,9,20,1,428,0.8616,1.79580992015390634541e+09,8.49399999999999932853e-01,0.8616,2);
INSERT INTO "metric_latest" VALUES(1,10,20,1,428,5.61800000000000077093e-01,1.7958099290131111145e+09,0.3264,5.61800000000000077093e-01,2);
INSERT INTO "metric_latest" VALUES(1,11,20,1,428,0.5734,1.79580993850761508941e+09,0.3318,0.5734,2);
INSERT INTO "metric_latest" VALUES(1,12,20,1,428,4.65199999999999946886e-01,1.79580994695176506046e+09,2.65399999999999969269e-01,4.65199999999999946886e-01,2);
CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO "metric_name" VALUES(20,'val/accuracy');
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
INSERT INTO "sweep" VALUES(1,'asynchronous','root','local','asynchronous.yaml','# Parameter servers beside synchronous steps, with and without momentum: four asynchronous workers
# bring a momentum of 0.75 of themselves, so that 0.9 on top of it learns worse than none.
name: asynchronous
method: grid
metric: {name: val/accuracy, goal: maximize}
seeds: 3
parameters:
  sync.mode: {values: [sync, async]}
  optimizer.momentum: {values: [0, 0.9]}
train:
  model: {name: mlp, hidden: [128]}
  data: {name: fashion-mnist, validation: 5000, split: last}
  batch: {global: 256}
  epochs: 2
  optimizer: {name: momentum, lr: 0.05}
  schedule: {decay: cosine}
  noise: {every: 0}
resources: {ranks_per_node: 4}
limits: {max_nodes_in_flight: 1}
','val/accuracy','maximize',NULL,'finished',1.79580985451973342893e+09,1.79580994723087716095e+09,'[]','[]','[]','',NULL,1);
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
INSERT INTO "trial" VALUES(1,1,1,1,'2a155d85d305df147896add38bcf852e','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","optimizer.momentum":0}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580985947342658048e+09,'');
INSERT INTO "trial" VALUES(1,2,1,2,'2a155d85d305df147896add38bcf852e','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","optimizer.momentum":0}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580986923577046393e+09,'');
INSERT INTO "trial" VALUES(1,3,1,3,'2a155d85d305df147896add38bcf852e','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","optimizer.momentum":0}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.7958098751515848637e+09,'');
INSERT INTO "trial" VALUES(1,4,2,1,'63ba8833b9b98dd3a529585df6bd9e63','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0.9},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","optimizer.momentum":0.9}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580988074515199661e+09,'');
INSERT INTO "trial" VALUES(1,5,2,2,'63ba8833b9b98dd3a529585df6bd9e63','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0.9},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","optimizer.momentum":0.9}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580988593859052653e+09,'');
INSERT INTO "trial" VALUES(1,6,2,3,'63ba8833b9b98dd3a529585df6bd9e63','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0.9},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"sync"}}','{"sync.mode":"sync","optimizer.momentum":0.9}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580989313695096971e+09,'');
INSERT INTO "trial" VALUES(1,7,3,1,'98273c04f1b40b0890d4575c6ae814ba','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"async"}}','{"sync.mode":"async","optimizer.momentum":0}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580990212152266497e+09,'');
INSERT INTO "trial" VALUES(1,8,3,2,'98273c04f1b40b0890d4575c6ae814ba','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"async"}}','{"sync.mode":"async","optimizer.momentum":0}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.7958099130396986008e+09,'');
INSERT INTO "trial" VALUES(1,9,3,3,'98273c04f1b40b0890d4575c6ae814ba','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"async"}}','{"sync.mode":"async","optimizer.momentum":0}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580992045114493363e+09,'');
INSERT INTO "trial" VALUES(1,10,4,1,'be55302d00f9404fe1a856d1cb1b5df4','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0.9},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"async"}}','{"sync.mode":"async","optimizer.momentum":0.9}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.7958099292388789654e+09,'');
INSERT INTO "trial" VALUES(1,11,4,2,'be55302d00f9404fe1a856d1cb1b5df4','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0.9},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"async"}}','{"sync.mode":"async","optimizer.momentum":0.9}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580993885453128809e+09,'');
INSERT INTO "trial" VALUES(1,12,4,3,'be55302d00f9404fe1a856d1cb1b5df4','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":256},"epochs":2,"optimizer":{"name":"momentum","lr":0.05,"momentum":0.9},"schedule":{"decay":"cosine"},"noise":{"every":0},"sync":{"mode":"async"}}','{"sync.mode":"async","optimizer.momentum":0.9}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":4,"threads_per_rank":1,"time_limit_s":3600}',1,1.79580994722761130332e+09,'');
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
INSERT INTO "sqlite_sequence" VALUES('event',74);
COMMIT;
