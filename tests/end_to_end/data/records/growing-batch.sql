-- thalweg run growing-batch.yaml --backend local
-- commit 133d85fc30eb, 2026-11-27, 83 s on 2 cores of Intel(R) Xeon(R) Processor @ 2.50GHz
-- made by tests/end_to_end/record.py growing-batch
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
INSERT INTO "attempt" VALUES(1,1,1,1,'676acea0e722fd928dbb50e8478fbbcb','finished','local','local:676acea0','/recorded/home/runs/1/1/1',1.79581009615594720842e+09,1.79581009616548967363e+09,1795810111.487,1,1,'vm','',0,NULL,'',149,1795810097000000,NULL,'');
INSERT INTO "attempt" VALUES(2,1,2,1,'a637a792774478d91d69727d0216e659','finished','local','local:a637a792','/recorded/home/runs/1/2/1',1.7958100961560883522e+09,1.79581009618148970596e+09,1795810105.579,1,1,'vm','',0,NULL,'',149,1795810097000000,NULL,'');
INSERT INTO "attempt" VALUES(3,1,3,1,'a445203d865547bf042a29da917c2e9a','finished','local','local:a445203d','/recorded/home/runs/1/3/1',1.79581010586845922472e+09,1.79581010588949012756e+09,1795810123.202,1,1,'vm','',0,NULL,'',149,1795810107000000,NULL,'');
INSERT INTO "attempt" VALUES(4,1,4,1,'df64f3aeda09aec1113b62cdbe3c459c','finished','local','local:df64f3ae','/recorded/home/runs/1/4/1',1.79581011169609522813e+09,1.79581011172549033167e+09,1795810126.509,1,1,'vm','',0,NULL,'',149,1795810112000000,NULL,'');
INSERT INTO "attempt" VALUES(5,1,5,1,'05763743e56d024326129f18b4e5c604','finished','local','local:05763743','/recorded/home/runs/1/5/1',1.79581012339296579357e+09,1.79581012346949076647e+09,1795810138.953,1,1,'vm','',0,NULL,'',149,1795810124000000,NULL,'');
INSERT INTO "attempt" VALUES(6,1,6,1,'35fc5e8149ecaf003f612e81f6863084','finished','local','local:35fc5e81','/recorded/home/runs/1/6/1',1.79581012662344884868e+09,1.79581012664949083322e+09,1795810139.198,1,1,'vm','',0,NULL,'',149,1795810128000000,NULL,'');
INSERT INTO "attempt" VALUES(7,1,7,1,'dfd3da5381a86199f94b0ee5833a77c5','finished','local','local:dfd3da53','/recorded/home/runs/1/7/1',1.79581013899705934527e+09,1.79581013907749128342e+09,1795810154.599,1,1,'vm','',0,NULL,'',84,1795810140000000,NULL,'');
INSERT INTO "attempt" VALUES(8,1,8,1,'965e397b6c809ae6537994a0c54c987d','finished','local','local:965e397b','/recorded/home/runs/1/8/1',1.79581013929515552517e+09,1.79581013932549118992e+09,1795810151.157,1,1,'vm','',0,NULL,'',84,1795810140000000,NULL,'');
INSERT INTO "attempt" VALUES(9,1,9,1,'ff86b5a7ae5aa0eaf7b452a5d1268324','finished','local','local:ff86b5a7','/recorded/home/runs/1/9/1',1.79581015130353665353e+09,1.79581015144549179071e+09,1795810164.551,1,1,'vm','',0,NULL,'',84,1795810153000000,NULL,'');
INSERT INTO "attempt" VALUES(10,1,10,1,'168a7f075e1dea2369e1faad4bb00bb5','finished','local','local:168a7f07','/recorded/home/runs/1/10/1',1.79581015463508868214e+09,1.79581015465749168399e+09,1795810166.124,1,1,'vm','',0,NULL,'',68,1795810156000000,NULL,'');
INSERT INTO "attempt" VALUES(11,1,11,1,'88516b0a0c72c34bc378a71c7f410938','finished','local','local:88516b0a','/recorded/home/runs/1/11/1',1.79581016474682879447e+09,1.79581016477349209785e+09,1795810179.123,1,1,'vm','',0,NULL,'',59,1795810166000000,NULL,'');
INSERT INTO "attempt" VALUES(12,1,12,1,'f0aaf5b815163b48a151d9eedfacc02a','finished','local','local:f0aaf5b8','/recorded/home/runs/1/12/1',1.79581016632026076312e+09,1.79581016663349223136e+09,1795810174.922,1,1,'vm','',0,NULL,'',66,1795810168000000,NULL,'');
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
INSERT INTO "event" VALUES(1,1.79581009614556312559e+09,'submitted',1,0,0,'{"backend":"local","directory":"/recorded","keep":{"checkpoints":"all","points":0,"trials":0},"limits":{"max_nodes_in_flight":2,"max_retries":2,"node_hours":0.0},"metric":{"goal":"maximize","name":"val/accuracy"},"shapes":[{"count":12,"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}],"slurm":{}}');
INSERT INTO "event" VALUES(2,1.79581009615594720842e+09,'launching',1,1,1,'{"backend":"local","folder":"/recorded/home/runs/1/1/1","nodes":1,"push_secret":"left out 2","ranks":1,"token":"676acea0e722fd928dbb50e8478fbbcb"}');
INSERT INTO "event" VALUES(3,1.7958100961560883522e+09,'launching',1,2,1,'{"backend":"local","folder":"/recorded/home/runs/1/2/1","nodes":1,"push_secret":"left out 3","ranks":1,"token":"a637a792774478d91d69727d0216e659"}');
INSERT INTO "event" VALUES(4,1.79581009615858721737e+09,'recorded',1,1,1,'{"handle":"local:676acea0"}');
INSERT INTO "event" VALUES(5,1.79581009616019177436e+09,'recorded',1,2,1,'{"handle":"local:a637a792"}');
INSERT INTO "event" VALUES(6,1.79581009617085623738e+09,'released',1,1,1,'{}');
INSERT INTO "event" VALUES(7,1.79581009617193770411e+09,'released',1,2,1,'{}');
INSERT INTO "event" VALUES(8,1.79581009643284463883e+09,'running',1,1,1,'{"node_list":"vm","started":1795810096.1654897}');
INSERT INTO "event" VALUES(9,1.7958100964400405884e+09,'running',1,2,1,'{"node_list":"vm","started":1795810096.1814897}');
INSERT INTO "event" VALUES(10,1.79581010584658861154e+09,'ended',1,2,1,'{"cause":"finished","ended":1795810105.579,"exit_code":0,"node_list":"vm","node_seconds":9.397510290145874,"reason":"","step":5154}');
INSERT INTO "event" VALUES(11,1.7958101058601987362e+09,'trial_ended',1,2,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(12,1.79581010586845922472e+09,'launching',1,3,1,'{"backend":"local","folder":"/recorded/home/runs/1/3/1","nodes":1,"push_secret":"left out 12","ranks":1,"token":"a445203d865547bf042a29da917c2e9a"}');
INSERT INTO "event" VALUES(13,1.79581010587828183173e+09,'recorded',1,3,1,'{"handle":"local:a445203d"}');
INSERT INTO "event" VALUES(14,1.79581010588431406018e+09,'released',1,3,1,'{}');
INSERT INTO "event" VALUES(15,1.79581010613686585424e+09,'running',1,3,1,'{"node_list":"vm","started":1795810105.8894901}');
INSERT INTO "event" VALUES(16,1.79581011168744087216e+09,'ended',1,1,1,'{"cause":"finished","ended":1795810111.487,"exit_code":0,"node_list":"vm","node_seconds":15.321510314941406,"reason":"","step":5154}');
INSERT INTO "event" VALUES(17,1.79581011169019579888e+09,'trial_ended',1,1,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(18,1.79581011169609522813e+09,'launching',1,4,1,'{"backend":"local","folder":"/recorded/home/runs/1/4/1","nodes":1,"push_secret":"left out 18","ranks":1,"token":"df64f3aeda09aec1113b62cdbe3c459c"}');
INSERT INTO "event" VALUES(19,1.79581011171060419087e+09,'recorded',1,4,1,'{"handle":"local:df64f3ae"}');
INSERT INTO "event" VALUES(20,1.79581011173064732555e+09,'released',1,4,1,'{}');
INSERT INTO "event" VALUES(21,1.79581011198883700374e+09,'running',1,4,1,'{"node_list":"vm","started":1795810111.7254903}');
INSERT INTO "event" VALUES(22,1.79581012336454343795e+09,'ended',1,3,1,'{"cause":"finished","ended":1795810123.202,"exit_code":0,"node_list":"vm","node_seconds":17.312509775161743,"reason":"","step":5154}');
INSERT INTO "event" VALUES(23,1.79581012336891984943e+09,'trial_ended',1,3,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(24,1.79581012339296579357e+09,'launching',1,5,1,'{"backend":"local","folder":"/recorded/home/runs/1/5/1","nodes":1,"push_secret":"left out 24","ranks":1,"token":"05763743e56d024326129f18b4e5c604"}');
INSERT INTO "event" VALUES(25,1.79581012339796495438e+09,'recorded',1,5,1,'{"handle":"local:05763743"}');
INSERT INTO "event" VALUES(26,1.79581012345089554788e+09,'released',1,5,1,'{}');
INSERT INTO "event" VALUES(27,1.79581012370530605313e+09,'running',1,5,1,'{"node_list":"vm","started":1795810123.4694908}');
INSERT INTO "event" VALUES(28,1.79581012661779117582e+09,'ended',1,4,1,'{"cause":"finished","ended":1795810126.509,"exit_code":0,"node_list":"vm","node_seconds":14.783509731292725,"reason":"","step":5154}');
INSERT INTO "event" VALUES(29,1.79581012661857724191e+09,'trial_ended',1,4,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(30,1.79581012662344884868e+09,'launching',1,6,1,'{"backend":"local","folder":"/recorded/home/runs/1/6/1","nodes":1,"push_secret":"left out 30","ranks":1,"token":"35fc5e8149ecaf003f612e81f6863084"}');
INSERT INTO "event" VALUES(31,1.79581012663523602486e+09,'recorded',1,6,1,'{"handle":"local:35fc5e81"}');
INSERT INTO "event" VALUES(32,1.7958101266379547119e+09,'released',1,6,1,'{}');
INSERT INTO "event" VALUES(33,1.79581012688936161999e+09,'running',1,6,1,'{"node_list":"vm","started":1795810126.6494908}');
INSERT INTO "event" VALUES(34,1.7958101389961037636e+09,'ended',1,5,1,'{"cause":"finished","ended":1795810138.953,"exit_code":0,"node_list":"vm","node_seconds":15.483509302139282,"reason":"","step":5154}');
INSERT INTO "event" VALUES(35,1.79581013899649071692e+09,'trial_ended',1,5,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(36,1.79581013899705934527e+09,'launching',1,7,1,'{"backend":"local","folder":"/recorded/home/runs/1/7/1","nodes":1,"push_secret":"left out 36","ranks":1,"token":"dfd3da5381a86199f94b0ee5833a77c5"}');
INSERT INTO "event" VALUES(37,1.79581013899869704241e+09,'recorded',1,7,1,'{"handle":"local:dfd3da53"}');
INSERT INTO "event" VALUES(38,1.79581013901471567154e+09,'released',1,7,1,'{}');
INSERT INTO "event" VALUES(39,1.79581013928424978263e+09,'ended',1,6,1,'{"cause":"finished","ended":1795810139.198,"exit_code":0,"node_list":"vm","node_seconds":12.548509120941162,"reason":"","step":5154}');
INSERT INTO "event" VALUES(40,1.79581013928592276573e+09,'running',1,7,1,'{"node_list":"vm","started":1795810139.0774913}');
INSERT INTO "event" VALUES(41,1.79581013928944563861e+09,'trial_ended',1,6,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(42,1.79581013929515552517e+09,'launching',1,8,1,'{"backend":"local","folder":"/recorded/home/runs/1/8/1","nodes":1,"push_secret":"left out 42","ranks":1,"token":"965e397b6c809ae6537994a0c54c987d"}');
INSERT INTO "event" VALUES(43,1.79581013931403923032e+09,'recorded',1,8,1,'{"handle":"local:965e397b"}');
INSERT INTO "event" VALUES(44,1.79581013931515955928e+09,'released',1,8,1,'{}');
INSERT INTO "event" VALUES(45,1.79581013956942701342e+09,'running',1,8,1,'{"node_list":"vm","started":1795810139.3254912}');
INSERT INTO "event" VALUES(46,1.79581014271895599366e+09,'note',1,8,1,'{"level":"info","text":"batch_growth: 256 samples in an update after step 1718, epoch 2"}');
INSERT INTO "event" VALUES(47,1.79581014507226228711e+09,'note',1,7,1,'{"level":"info","text":"batch_growth: 256 samples in an update after step 1718, epoch 2"}');
INSERT INTO "event" VALUES(48,1.79581014549577188494e+09,'note',1,8,1,'{"level":"info","text":"batch_growth: 1024 samples in an update after step 2146, epoch 4"}');
INSERT INTO "event" VALUES(49,1.79581014811885190008e+09,'note',1,7,1,'{"level":"info","text":"batch_growth: 1024 samples in an update after step 2146, epoch 4"}');
INSERT INTO "event" VALUES(50,1.7958101512493515015e+09,'ended',1,8,1,'{"cause":"finished","ended":1795810151.157,"exit_code":0,"node_list":"vm","node_seconds":11.831508874893188,"reason":"","step":2252}');
INSERT INTO "event" VALUES(51,1795810151.29209,'trial_ended',1,8,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(52,1.79581015130353665353e+09,'launching',1,9,1,'{"backend":"local","folder":"/recorded/home/runs/1/9/1","nodes":1,"push_secret":"left out 52","ranks":1,"token":"ff86b5a7ae5aa0eaf7b452a5d1268324"}');
INSERT INTO "event" VALUES(53,1.79581015143527603149e+09,'recorded',1,9,1,'{"handle":"local:ff86b5a7"}');
INSERT INTO "event" VALUES(54,1.79581015144722652438e+09,'released',1,9,1,'{}');
INSERT INTO "event" VALUES(55,1.79581015173371124271e+09,'running',1,9,1,'{"node_list":"vm","started":1795810151.4454918}');
INSERT INTO "event" VALUES(56,1.79581015462607407567e+09,'ended',1,7,1,'{"cause":"finished","ended":1795810154.599,"exit_code":0,"node_list":"vm","node_seconds":15.521508693695068,"reason":"","step":2252}');
INSERT INTO "event" VALUES(57,1.79581015462856507297e+09,'trial_ended',1,7,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(58,1.79581015463508868214e+09,'launching',1,10,1,'{"backend":"local","folder":"/recorded/home/runs/1/10/1","nodes":1,"push_secret":"left out 58","ranks":1,"token":"168a7f075e1dea2369e1faad4bb00bb5"}');
INSERT INTO "event" VALUES(59,1.79581015464294314388e+09,'recorded',1,10,1,'{"handle":"local:168a7f07"}');
INSERT INTO "event" VALUES(60,1.79581015465088272096e+09,'released',1,10,1,'{}');
INSERT INTO "event" VALUES(61,1.79581015490318703651e+09,'running',1,10,1,'{"node_list":"vm","started":1795810154.6574917}');
INSERT INTO "event" VALUES(62,1.79581015658839106556e+09,'note',1,10,1,'{"level":"info","text":"batch_growth: 128 samples in an update after step 200, epoch 0.2328"}');
INSERT INTO "event" VALUES(63,1.79581015708589839937e+09,'note',1,10,1,'{"level":"info","text":"batch_growth: 256 samples in an update after step 500, epoch 0.9324"}');
INSERT INTO "event" VALUES(64,1.79581015738427329057e+09,'note',1,9,1,'{"level":"info","text":"batch_growth: 256 samples in an update after step 1718, epoch 2"}');
INSERT INTO "event" VALUES(65,1.79581016076314926152e+09,'note',1,9,1,'{"level":"info","text":"batch_growth: 1024 samples in an update after step 2146, epoch 4"}');
INSERT INTO "event" VALUES(66,1.79581016473119759561e+09,'ended',1,9,1,'{"cause":"finished","ended":1795810164.551,"exit_code":0,"node_list":"vm","node_seconds":13.10550832748413,"reason":"","step":2252}');
INSERT INTO "event" VALUES(67,1.79581016473904967302e+09,'trial_ended',1,9,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(68,1.79581016474682879447e+09,'launching',1,11,1,'{"backend":"local","folder":"/recorded/home/runs/1/11/1","nodes":1,"push_secret":"left out 68","ranks":1,"token":"88516b0a0c72c34bc378a71c7f410938"}');
INSERT INTO "event" VALUES(69,1.79581016476698660843e+09,'recorded',1,11,1,'{"handle":"local:88516b0a"}');
INSERT INTO "event" VALUES(70,1.79581016477879428861e+09,'released',1,11,1,'{}');
INSERT INTO "event" VALUES(71,1.79581016503212022783e+09,'running',1,11,1,'{"node_list":"vm","started":1795810164.773492}');
INSERT INTO "event" VALUES(72,1.7958101663192570209e+09,'ended',1,10,1,'{"cause":"finished","ended":1795810166.124,"exit_code":0,"node_list":"vm","node_seconds":11.466508388519287,"reason":"","step":1584}');
INSERT INTO "event" VALUES(73,1.79581016631969690323e+09,'trial_ended',1,10,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(74,1.79581016632026076312e+09,'launching',1,12,1,'{"backend":"local","folder":"/recorded/home/runs/1/12/1","nodes":1,"push_secret":"left out 74","ranks":1,"token":"f0aaf5b815163b48a151d9eedfacc02a"}');
INSERT INTO "event" VALUES(75,1.79581016632195138932e+09,'recorded',1,12,1,'{"handle":"local:f0aaf5b8"}');
INSERT INTO "event" VALUES(76,1.79581016633485651017e+09,'released',1,12,1,'{}');
INSERT INTO "event" VALUES(77,1.79581016627293300631e+09,'note',1,11,1,'{"level":"info","text":"batch_growth: 128 samples in an update after step 100, epoch 0.1164"}');
INSERT INTO "event" VALUES(78,1.79581016683623862265e+09,'running',1,12,1,'{"node_list":"vm","started":1795810166.6334922}');
INSERT INTO "event" VALUES(79,1.79581016688758683206e+09,'note',1,11,1,'{"level":"info","text":"batch_growth: 256 samples in an update after step 400, epoch 0.8158"}');
INSERT INTO "event" VALUES(80,1.79581016821615314484e+09,'note',1,11,1,'{"level":"info","text":"batch_growth: 512 samples in an update after step 700, epoch 2.22"}');
INSERT INTO "event" VALUES(81,1.79581016870262312893e+09,'note',1,12,1,'{"level":"info","text":"batch_growth: 128 samples in an update after step 100, epoch 0.1164"}');
INSERT INTO "event" VALUES(82,1.79581016923483157161e+09,'note',1,12,1,'{"level":"info","text":"batch_growth: 256 samples in an update after step 400, epoch 0.8158"}');
INSERT INTO "event" VALUES(83,1.79581017513783168797e+09,'ended',1,12,1,'{"cause":"finished","ended":1795810174.922,"exit_code":0,"node_list":"vm","node_seconds":8.28850769996643,"reason":"","step":1509}');
INSERT INTO "event" VALUES(84,1.79581017513885569567e+09,'trial_ended',1,12,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(85,1.79581017932834768294e+09,'ended',1,11,1,'{"cause":"finished","ended":1795810179.123,"exit_code":0,"node_list":"vm","node_seconds":14.349507808685303,"reason":"","step":1104}');
INSERT INTO "event" VALUES(86,1.79581017932901239398e+09,'trial_ended',1,11,0,'{"reason":"","state":"finished"}');
INSERT INTO "event" VALUES(87,1.79581017933089303966e+09,'sweep_ended',1,0,0,'{"state":"finished"}');
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
INSERT INTO "metric_chunk" VALUES(2,20,0,6,859,5154,0.8362,0.8676,'[[859,0.8362,1700591],[1718,0.8378,2630448],[2577,0.8564,3343360],[3436,0.857,6406813],[4295,0.852,7520309],[5154,0.8676,8528517]]');
INSERT INTO "metric_chunk" VALUES(1,20,0,6,859,5154,0.8436,0.869,'[[859,0.8436,3698224],[1718,0.8573999999999999,4627823],[2577,0.8562,5556669],[3436,0.8636,9030803],[4295,0.8628,11559736],[5154,0.869,14430805]]');
INSERT INTO "metric_chunk" VALUES(3,20,0,6,859,5154,8.42200000000000059685e-01,0.8666,'[[859,0.8484,2950785],[1718,0.8548,5134790],[2577,0.8422000000000001,7964532],[3436,0.8634,11955974],[4295,0.8666,13807675],[5154,0.8602,16138772]]');
INSERT INTO "metric_chunk" VALUES(4,20,0,6,859,5154,0.8436,0.8838,'[[859,0.8436,3186806],[1718,0.8573999999999999,6047523],[2577,0.8708,8750801],[3436,0.8738,9466575],[4295,0.8838,11143968],[5154,0.8826,14469600]]');
INSERT INTO "metric_chunk" VALUES(5,20,0,6,859,5154,0.8362,0.8852,'[[859,0.8362,1790001],[1718,0.8378,3395542],[2577,0.8714,5955306],[3436,0.8772,9182816],[4295,0.8824,12084880],[5154,0.8852,14833090]]');
INSERT INTO "metric_chunk" VALUES(6,20,0,6,859,5154,0.8484,0.8818,'[[859,0.8484,1395481],[1718,0.8548,2515200],[2577,0.8735999999999999,3741955],[3436,0.8766,5311002],[4295,0.8818,8724872],[5154,0.8815999999999999,11173275]]');
INSERT INTO "metric_chunk" VALUES(7,24,0,56,42,2252,2688.0,328064.0,'[[42,2688,429034],[84,5376,531159],[126,8064,643098],[168,10752,760273],[210,13440,880129],[252,16128,1007066],[294,18816,1117437],[336,21504,1271123],[378,24192,1334862],[420,26880,1491726],[462,29568,1683657],[504,32256,1845160],[546,34944,2099879],[588,37632,2219180],[630,40320,2469532],[672,43008,2631359],[714,45696,2741715],[756,48384,2840610],[798,51072,2927919],[840,53760,3019759],[882,56448,3180694],[924,59136,3260047],[966,61824,3360849],[1008,64512,3429984],[1050,67200,3521712],[1092,69888,3622520],[1134,72576,3736627],[1176,75264,3824349],[1218,77952,3935157],[1260,80640,4088693],[1302,83328,4200670],[1344,86016,4277384],[1386,88704,4372483],[1428,91392,4451785],[1470,94080,4532063],[1512,96768,4623100],[1554,99456,4706971],[1596,102144,4787105],[1638,104832,4873312],[1680,107520,4977303],[1718,109952,5072315],[1722,110976,5167151],[1764,121728,5515964],[1806,132480,5829175],[1848,143232,6117925],[1890,153984,6437314],[1932,164736,6735188],[1974,175488,7099697],[2016,186240,7415415],[2058,196992,7525821],[2100,207744,7634488],[2142,218496,7978843],[2146,219520,8118919],[2184,258432,10709058],[2226,301440,13411227],[2252,328064,14483034]]');
INSERT INTO "metric_chunk" VALUES(8,24,0,56,42,2252,2688.0,328064.0,'[[42,2688,891122],[84,5376,989998],[126,8064,1089780],[168,10752,1184318],[210,13440,1237974],[252,16128,1277213],[294,18816,1316591],[336,21504,1356198],[378,24192,1395503],[420,26880,1439454],[462,29568,1478762],[504,32256,1516590],[546,34944,1555592],[588,37632,1594068],[630,40320,1633207],[672,43008,1671953],[714,45696,1710693],[756,48384,1750301],[798,51072,1788966],[840,53760,1828730],[882,56448,1925963],[924,59136,1966047],[966,61824,2005264],[1008,64512,2044101],[1050,67200,2083345],[1092,69888,2124742],[1134,72576,2163948],[1176,75264,2203591],[1218,77952,2243642],[1260,80640,2282887],[1302,83328,2322950],[1344,86016,2362135],[1386,88704,2401995],[1428,91392,2441888],[1470,94080,2481306],[1512,96768,2521307],[1554,99456,2560293],[1596,102144,2599415],[1638,104832,2639634],[1680,107520,2678995],[1718,109952,2719036],[1722,110976,2802865],[1764,121728,2952823],[1806,132480,3113617],[1848,143232,3299810],[1890,153984,3615231],[1932,164736,3805477],[1974,175488,4000407],[2016,186240,4291187],[2058,196992,4731168],[2100,207744,5139187],[2142,218496,5439199],[2146,219520,5495868],[2184,258432,6927574],[2226,301440,8590254],[2252,328064,10798933]]');
INSERT INTO "metric_chunk" VALUES(8,20,0,6,859,2252,0.8362,0.8828,'[[859,0.8362,1893435],[1718,0.8378,2764435],[1932,0.8748,3839506],[2146,0.8758,5558838],[2199,0.8828,7583543],[2252,0.8824,10996307]]');
INSERT INTO "metric_chunk" VALUES(7,20,0,6,859,2252,0.8436,0.8844,'[[859,0.8436,3123585],[1718,0.8573999999999999,5106810],[1932,0.874,6770450],[2146,0.8818,8387982],[2199,0.8844,12218205],[2252,0.8828,14532985]]');
INSERT INTO "metric_chunk" VALUES(9,24,0,56,42,2252,2688.0,328064.0,'[[42,2688,762344],[84,5376,912398],[126,8064,1048402],[168,10752,1182213],[210,13440,1307087],[252,16128,1391930],[294,18816,1523788],[336,21504,1643038],[378,24192,1783172],[420,26880,1912445],[462,29568,1988593],[504,32256,2154487],[546,34944,2206412],[588,37632,2249165],[630,40320,2341945],[672,43008,2405803],[714,45696,2449537],[756,48384,2484588],[798,51072,2534279],[840,53760,2586972],[882,56448,2689446],[924,59136,2730127],[966,61824,2785049],[1008,64512,2828048],[1050,67200,2884743],[1092,69888,2924257],[1134,72576,2967303],[1176,75264,3017627],[1218,77952,3067813],[1260,80640,3121462],[1302,83328,3174307],[1344,86016,3227009],[1386,88704,3271629],[1428,91392,3313640],[1470,94080,3356104],[1512,96768,3563024],[1554,99456,3674234],[1596,102144,3803141],[1638,104832,4036619],[1680,107520,4218418],[1718,109952,4384351],[1722,110976,4535226],[1764,121728,4983236],[1806,132480,5279186],[1848,143232,5663705],[1890,153984,5985804],[1932,164736,6220295],[1974,175488,6625970],[2016,186240,6947877],[2058,196992,7215161],[2100,207744,7507245],[2142,218496,7724324],[2146,219520,7763215],[2184,258432,9187211],[2226,301440,10490392],[2252,328064,11447209]]');
INSERT INTO "metric_chunk" VALUES(9,20,0,6,859,2252,0.8484,0.8838,'[[859,0.8484,2651190],[1718,0.8548,4451669],[1932,0.8734,6274854],[2146,0.8822,7789296],[2199,0.8838,9536295],[2252,0.8815999999999999,11494819]]');
INSERT INTO "metric_chunk" VALUES(10,24,0,40,42,1584,2688.0,328704.0,'[[42,2688,414656],[84,5376,459862],[126,8064,505787],[168,10752,552808],[200,12800,588473],[210,14080,626476],[252,19456,715736],[294,24832,780207],[336,30208,844435],[378,35584,904012],[420,40960,979703],[462,46336,1037376],[500,51200,1085965],[504,52224,1149449],[546,62976,1371187],[588,73728,1675231],[630,84480,2119225],[672,95232,2575804],[714,105984,3183211],[756,116736,3565608],[798,127488,3731773],[840,138240,3858448],[882,148992,4045101],[924,159744,4239274],[966,170496,4506964],[1008,181248,4790292],[1050,192000,4975042],[1092,202752,5269077],[1134,213504,5549920],[1176,224256,5907983],[1218,235008,6319216],[1260,245760,6743389],[1302,256512,7226128],[1344,267264,7624996],[1386,278016,8125547],[1428,288768,8560596],[1470,299520,8882755],[1512,310272,9271259],[1554,321024,9707266],[1584,328704,10031222]]');
INSERT INTO "metric_chunk" VALUES(10,20,0,6,514,1584,0.8488,0.8794,'[[514,0.8488,1210559],[728,0.8622,3381644],[942,0.8756,4340653],[1156,0.875,5750804],[1370,0.8794,7947877],[1584,0.8734,10074832]]');
INSERT INTO "metric_chunk" VALUES(11,24,0,30,42,1104,2688.0,328448.0,'[[42,2688,210157],[84,5376,259748],[100,6400,273012],[126,9728,325117],[168,15104,407413],[210,20480,485197],[252,25856,561969],[294,31232,642113],[336,36608,762472],[378,41984,837709],[400,44800,887666],[420,49920,970283],[462,60672,1150570],[504,71424,1289326],[546,82176,1515731],[588,92928,1701579],[630,103680,1891989],[672,114432,2114894],[700,121600,2216242],[714,128768,2330018],[756,150272,3470711],[798,171776,5620168],[840,193280,6232176],[882,214784,8051011],[924,236288,8557646],[966,257792,8923223],[1008,279296,9399007],[1050,300800,10654722],[1092,322304,12154985],[1104,328448,12994553]]');
INSERT INTO "metric_chunk" VALUES(11,20,0,6,439,1104,0.8542,8.85599999999999942801e-01,'[[439,0.8542,1068236],[653,0.8735999999999999,2033499],[783,0.8822,5225415],[890,0.8855999999999999,8294845],[997,0.8818,9213492],[1104,0.8808,13048941]]');
INSERT INTO "metric_chunk" VALUES(12,24,0,38,42,1509,2688.0,328704.0,'[[42,2688,591493],[84,5376,670077],[100,6400,702701],[126,9728,758240],[168,15104,833045],[210,20480,907711],[252,25856,980884],[294,31232,1055701],[336,36608,1127252],[378,41984,1198158],[400,44800,1234909],[420,49920,1323940],[462,60672,1513771],[504,71424,1650560],[546,82176,1837198],[588,92928,1986767],[630,103680,2131108],[672,114432,2319292],[714,125184,2467486],[756,135936,2615781],[798,146688,2768077],[840,157440,2898333],[882,168192,3093896],[924,178944,3257281],[966,189696,3460020],[1008,200448,3670888],[1050,211200,4386660],[1092,221952,4912715],[1134,232704,5065506],[1176,243456,5222833],[1218,254208,5361943],[1260,264960,5499846],[1302,275712,5696679],[1344,286464,5894426],[1386,297216,6026760],[1428,307968,6160508],[1470,318720,6302102],[1509,328704,6706708]]');
INSERT INTO "metric_chunk" VALUES(12,20,0,6,439,1509,0.8668,0.8814,'[[439,0.8668,1414303],[653,0.869,2241998],[867,0.872,3024572],[1081,0.8728,4858833],[1295,0.8794,5649401],[1509,0.8814,6758844]]');
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
INSERT INTO "metric_latest" VALUES(1,1,20,1,5154,0.869,1.79581011143080520632e+09,0.8436,0.869,6);
INSERT INTO "metric_latest" VALUES(1,2,20,1,5154,0.8676,1.79581010552851700785e+09,0.8362,0.8676,6);
INSERT INTO "metric_latest" VALUES(1,3,20,1,5154,0.8602,1.795810123138771534e+09,8.42200000000000059685e-01,0.8666,6);
INSERT INTO "metric_latest" VALUES(1,4,20,1,5154,0.8826,1.79581012646959948544e+09,0.8436,0.8838,6);
INSERT INTO "metric_latest" VALUES(1,5,20,1,5154,0.8852,1.79581013883308959009e+09,0.8362,0.8852,6);
INSERT INTO "metric_latest" VALUES(1,6,20,1,5154,8.81599999999999939248e-01,1.79581013917327523233e+09,0.8484,0.8818,6);
INSERT INTO "metric_latest" VALUES(1,7,20,1,2252,0.8828,1.79581015453298473358e+09,0.8436,0.8844,6);
INSERT INTO "metric_latest" VALUES(1,7,24,1,2252,328064.0,1.79581015448303389549e+09,2688.0,328064.0,56);
INSERT INTO "metric_latest" VALUES(1,8,20,1,2252,0.8824,1.79581015099630737306e+09,0.8362,0.8828,6);
INSERT INTO "metric_latest" VALUES(1,8,24,1,2252,328064.0,1.7958101507989325524e+09,2688.0,328064.0,56);
INSERT INTO "metric_latest" VALUES(1,9,20,1,2252,8.81599999999999939248e-01,1.79581016449481916429e+09,0.8484,0.8838,6);
INSERT INTO "metric_latest" VALUES(1,9,24,1,2252,328064.0,1.79581016444720935817e+09,2688.0,328064.0,56);
INSERT INTO "metric_latest" VALUES(1,10,20,1,1584,0.8734,1.79581016607483172418e+09,0.8488,0.8794,6);
INSERT INTO "metric_latest" VALUES(1,10,24,1,1584,328704.0,1.79581016603122186657e+09,2688.0,328704.0,40);
INSERT INTO "metric_latest" VALUES(1,11,20,1,1104,0.8808,1.79581017904894113543e+09,0.8542,8.85599999999999942801e-01,6);
INSERT INTO "metric_latest" VALUES(1,11,24,1,1104,328448.0,1.79581017899455285067e+09,2688.0,328448.0,30);
INSERT INTO "metric_latest" VALUES(1,12,20,1,1509,0.8814,1.79581017475884389877e+09,0.8668,0.8814,6);
INSERT INTO "metric_latest" VALUES(1,12,24,1,1509,328704.0,1.79581017470670819278e+09,2688.0,328704.0,38);
CREATE TABLE metric_name (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
);
INSERT INTO "metric_name" VALUES(20,'val/accuracy');
INSERT INTO "metric_name" VALUES(24,'batch/samples');
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
INSERT INTO "sweep" VALUES(1,'growing-batch','root','local','growing-batch.yaml','# "Don''t decay the learning rate, increase the batch size" (Smith et al. 2017): a rate that falls by 4
# after epochs 2 and 4, and a batch that grows by 4 instead: as accurate, in less than half the updates.
# The last row grows it by the noise scale of the gradients that each run measures (McCandlish et al. 2018).
name: growing-batch
method: grid
metric: {name: val/accuracy, goal: maximize}
seeds: 3
zip: [schedule.decay, batch_growth.by]
parameters:
  schedule.decay: {values: [constant, multistep, constant, constant]}
  schedule.at_epochs: {value: [2, 4]}
  schedule.gamma: {value: 0.25}
  batch_growth.by: {values: [none, none, epochs, noise_scale]}
  batch_growth.at_epochs: {value: [2, 4]}
  batch_growth.factor: {value: 4}
  batch_growth.samples_for_a_step: {value: 300}
  batch_growth.max: {value: 1024}
when:
  schedule.at_epochs: {schedule.decay: multistep}
  schedule.gamma: {schedule.decay: multistep}
  batch_growth.at_epochs: {batch_growth.by: epochs}
  batch_growth.factor: {batch_growth.by: epochs}
  batch_growth.samples_for_a_step: {batch_growth.by: noise_scale}
  batch_growth.max: {batch_growth.by: noise_scale}
train:
  model: {name: mlp, hidden: [128]}
  data: {name: fashion-mnist, validation: 5000, split: last}
  batch: {global: 64}
  epochs: 6
  optimizer: {name: momentum, momentum: 0.9, lr: 0.05}
limits: {max_nodes_in_flight: 2}
','val/accuracy','maximize',NULL,'finished',1.7958100961455295086e+09,1.79581017933089303966e+09,'["batch_growth: up to 16 times batch.global, and then as many times fewer steps an epoch"]','[]','[]','',NULL,1);
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
INSERT INTO "trial" VALUES(1,1,1,1,'0885f29abb6046103b16a71e4e03dbbc','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"none"}}','{"schedule.decay":"constant","batch_growth.by":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581011169019579888e+09,'');
INSERT INTO "trial" VALUES(1,2,1,2,'0885f29abb6046103b16a71e4e03dbbc','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"none"}}','{"schedule.decay":"constant","batch_growth.by":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.7958101058601987362e+09,'');
INSERT INTO "trial" VALUES(1,3,1,3,'0885f29abb6046103b16a71e4e03dbbc','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"none"}}','{"schedule.decay":"constant","batch_growth.by":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581012336891984943e+09,'');
INSERT INTO "trial" VALUES(1,4,2,1,'27ed93d4df9abb41e0964791e60384d6','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"multistep","at_epochs":[2,4],"gamma":0.25},"batch_growth":{"by":"none"}}','{"schedule.decay":"multistep","schedule.at_epochs":[2,4],"schedule.gamma":0.25,"batch_growth.by":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581012661857724191e+09,'');
INSERT INTO "trial" VALUES(1,5,2,2,'27ed93d4df9abb41e0964791e60384d6','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"multistep","at_epochs":[2,4],"gamma":0.25},"batch_growth":{"by":"none"}}','{"schedule.decay":"multistep","schedule.at_epochs":[2,4],"schedule.gamma":0.25,"batch_growth.by":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581013899649071692e+09,'');
INSERT INTO "trial" VALUES(1,6,2,3,'27ed93d4df9abb41e0964791e60384d6','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"multistep","at_epochs":[2,4],"gamma":0.25},"batch_growth":{"by":"none"}}','{"schedule.decay":"multistep","schedule.at_epochs":[2,4],"schedule.gamma":0.25,"batch_growth.by":"none"}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581013928944563861e+09,'');
INSERT INTO "trial" VALUES(1,7,3,1,'08c29491cc45aa0499c079f63b2a14d9','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"epochs","at_epochs":[2,4],"factor":4}}','{"schedule.decay":"constant","batch_growth.by":"epochs","batch_growth.at_epochs":[2,4],"batch_growth.factor":4}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581015462856507297e+09,'');
INSERT INTO "trial" VALUES(1,8,3,2,'08c29491cc45aa0499c079f63b2a14d9','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"epochs","at_epochs":[2,4],"factor":4}}','{"schedule.decay":"constant","batch_growth.by":"epochs","batch_growth.at_epochs":[2,4],"batch_growth.factor":4}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1795810151.29209,'');
INSERT INTO "trial" VALUES(1,9,3,3,'08c29491cc45aa0499c079f63b2a14d9','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"epochs","at_epochs":[2,4],"factor":4}}','{"schedule.decay":"constant","batch_growth.by":"epochs","batch_growth.at_epochs":[2,4],"batch_growth.factor":4}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581016473904967302e+09,'');
INSERT INTO "trial" VALUES(1,10,4,1,'7aca6786f7388bc1598cedd3d05ff02c','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"noise_scale","samples_for_a_step":300,"max":1024}}','{"schedule.decay":"constant","batch_growth.by":"noise_scale","batch_growth.samples_for_a_step":300,"batch_growth.max":1024}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581016631969690323e+09,'');
INSERT INTO "trial" VALUES(1,11,4,2,'7aca6786f7388bc1598cedd3d05ff02c','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"noise_scale","samples_for_a_step":300,"max":1024}}','{"schedule.decay":"constant","batch_growth.by":"noise_scale","batch_growth.samples_for_a_step":300,"batch_growth.max":1024}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581017932901239398e+09,'');
INSERT INTO "trial" VALUES(1,12,4,3,'7aca6786f7388bc1598cedd3d05ff02c','finished','{"model":{"name":"mlp","hidden":[128]},"data":{"name":"fashion-mnist","validation":5000,"split":"last"},"batch":{"global":64},"epochs":6,"optimizer":{"name":"momentum","momentum":0.9,"lr":0.05},"schedule":{"decay":"constant"},"batch_growth":{"by":"noise_scale","samples_for_a_step":300,"max":1024}}','{"schedule.decay":"constant","batch_growth.by":"noise_scale","batch_growth.samples_for_a_step":300,"batch_growth.max":1024}','{"gpus_per_node":0,"memory_mib":0,"nodes":1,"ranks_per_node":1,"threads_per_rank":1,"time_limit_s":3600}',1,1.79581017513885569567e+09,'');
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
INSERT INTO "sqlite_sequence" VALUES('event',87);
COMMIT;
